"""How large an experiment is: as in the paper, or just large enough to see that everything runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Shares of the paper's sizes, and floors below which nothing would run."""

    quick: bool = False
    """Whether sizes are tiny, which says nothing about any method."""

    def rows(self, number: int) -> int:
        """Rows of a data set."""
        return min(number, 200) if self.quick else number

    def particles(self, number: int) -> int:
        """Particles where the paper has so many; the same for all in a quick version, so that programs are shared."""
        return 8 if self.quick else number

    def steps(self, number: int) -> int:
        """Steps where the paper has so many."""
        return max(number // 20, 2) if self.quick else number

    def bootstraps(self, number: int) -> int:
        """Bootstraps where the paper has so many."""
        return max(number // 200, 3) if self.quick else number

    def epochs(self, number: int) -> int:
        """Epochs where the paper has so many."""
        return number // 50 if self.quick else number

    def repeats(self, number: int) -> int:
        """Repeats where a study has so many; one in a quick version, so that no two compile the same at once."""
        return 1 if self.quick else number


FULL, QUICK = Effort(), Effort(quick=True)
