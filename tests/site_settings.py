"""Settings that keep the demo site."""


def keep_site(folder, site):
    """Write settings that keep the pages of a demo site; return their path."""
    path = folder / "halflife.toml"
    path.write_text(
        "[budget]\nrequests = 500\n[fetch]\ndelay = 0.0\n"
        f'[[source]]\nname = "demo"\nallow = ["127.0.0.0/8"]\n'
        f'maps = ["{site.url}/sitemap.xml"]\n'
    )
    return path
