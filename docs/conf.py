"""Settings of the documentation site, which `make docs` builds with Sphinx."""

from importlib.metadata import version as version_of

project = "hyperplanes"
version = release = version_of("hyperplanes")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".md": "myst-nb"}
root_doc = "index"
nitpicky = True
smartquotes = False
default_role = "literal"
highlight_language = "none"

myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_execution_show_tb = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = "hyperplanes"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5a8a", "color-brand-content": "#1f5a8a"},
    "dark_css_variables": {"color-brand-primary": "#7fb8e6", "color-brand-content": "#7fb8e6"},
}
pygments_style = "tango"
pygments_dark_style = "github-dark"
