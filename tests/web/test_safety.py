"""Who gets in, what gets out, and what remote text can do: nothing."""

import hashlib
import shutil

import pytest
from lxml import html
from starlette.routing import Route

from halflife.core.errors import UsageError
from halflife.web.server import ServeWish, prepare
from web_hostile import EVIL

ROUTES = {
    "/", "/overview", "/overview.json", "/sources", "/sources.json", "/source",
    "/source.json", "/plan", "/plan.json", "/what-if", "/what-if.json", "/inbox",
    "/inbox.json", "/league", "/league.json", "/audit", "/audit.json", "/jobs.json",
    "/ready.json", "/copy", "/static/{name}", "/sync", "/decide", "/undo", "/demo",
    "/leave", "/audit/league", "/audit/league.json", "/push.json",
    "/websub/{token}", "/indexnow", "/changes", "/changes.json", "/changes.atom",
    "/diff", "/diff.json", "/items", "/items.json",
    "/items/all.{form}", "/what-if.svg", "/add", "/add/trial.json", "/add/save",
    "/edit", "/edit/save", "/edit/undo",
}  # fmt: skip
API = {
    f"/api/v1/{path}"
    for path in (
        "overview", "sources", "sources/{name}", "plan", "whatif", "audit", "inbox",
        "league", "jobs", "changes", "records/{source}", "diff", "forecast/{source}",
        "copy", "openapi.json", "sync", "decide", "push", "trials", "trials/{trial}",
        "budget", "settings/changes", "settings/undo",
    )
}  # fmt: skip
API_WRITING = {
    f"/api/v1/{path}"
    for path in (
        "sync", "decide", "push", "trials", "budget", "settings/undo", "sources",
        "sources/{name}",
    )
}  # fmt: skip
OPENED = {"/websub/{token}", "/indexnow"}  # to all, if the settings say so
SCRIPTS = {f"/static/{name}.js" for name in ("halflife", "changes", "edit")}
WRITING = {"/sync", "/decide", "/undo", "/demo", "/leave", "/push.json", *OPENED}
WRITING |= {"/add", "/add/save", "/edit/save", "/edit/undo"}
# The same addresses show something, too.
SHOWN_TOO = {"/add", "/api/v1/sources", "/api/v1/sources/{name}"}


def filled(path):
    return (
        path.replace("{name}", "halflife.css")
        .replace("{source}", "handbook")
        .replace("{form}", "csv")
    )


def routes(visitor):
    return [route for route in visitor.app.routes if isinstance(route, Route)]


def test_every_route_is_known_to_this_test(full):
    assert {route.path for route in routes(full)} == ROUTES | API
    assert len(full.app.routes) == len(routes(full))


def test_only_these_routes_change_anything(full):
    for route in routes(full):
        safe = route.methods <= {"GET", "HEAD"}
        if not (safe and route.path in SHOWN_TOO):
            assert safe == (route.path not in WRITING | API_WRITING)


@pytest.mark.parametrize("path", sorted(ROUTES | API))
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_is_answered_without_the_token(full, path, method):
    path = filled(path)
    assert full.ask(method, path).status == 401
    for wrong in ("", "x", full.token[:-1], full.token + "x", "é"):
        headers = {"Authorization": f"Bearer {wrong}".encode()}
        assert full.ask(method, path, headers).status == 401
    assert full.ask(method, f"{path}?token=wrong").status == 401
    cookie = {"Cookie": f"halflife-{full.host.partition(':')[2]}=wrong; x=\x01"}
    assert full.ask(method, path, cookie).status == 401


@pytest.mark.parametrize("path", sorted(ROUTES | API))
def test_a_foreign_host_is_turned_away_even_with_the_token(full, path):
    path = filled(path)
    port = full.host.partition(":")[2]
    for host in ("evil.test", f"evil.test:{port}", "127.0.0.1", "", f"a@{full.host}"):
        for method in ("GET", "POST"):
            answer = full.ask(method, path, {**full.bearer, "Host": host})
            assert answer.status in {400, 421}


def test_the_token_in_the_address_becomes_a_cookie_that_is_kept_well(full):
    answer = full.ask("GET", f"/sources?kind=form&token={full.token}")
    assert answer.status == 303
    assert answer.headers["location"] == "/sources?kind=form"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    kept = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    assert full.ask("GET", "/sources", kept).status == 200


def test_the_way_in_leads_to_no_other_host(full):
    answer = full.ask("GET", f"//evil.test/?token={full.token}")
    assert not answer.headers.get("location", "/").startswith("//")


@pytest.mark.parametrize("path", sorted(WRITING | API_WRITING))
def test_other_sites_can_set_nothing_going(full, path):
    cookie = f"halflife-{full.host.partition(':')[2]}={full.token}"
    form = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    refused = (
        {},
        {"Origin": "null"},
        {"Origin": "http://evil.test"},
        {"Origin": f"http://{full.host}.evil.test"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site", "Origin": f"http://{full.host}"},
        {"Sec-Fetch-Site": "same-site"},
    )
    before = len(full.site.background.jobs)
    for headers in refused:
        assert full.ask("POST", path, {**form, **headers}, "source=wiki").status == 403
    assert len(full.site.background.jobs) == before


def test_our_own_pages_can(full):
    cookie = f"halflife-{full.host.partition(':')[2]}={full.token}"
    form = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    for headers in (
        {"Sec-Fetch-Site": "same-origin"},
        {"Origin": f"http://{full.host}"},
    ):
        answer = full.ask("POST", "/sync", {**form, **headers}, "source=nix")
        assert answer.status == 404  # it got as far as looking for the source


def test_large_forms_are_refused(full):
    assert full.post("/sync", "source=" + "x" * 20_000).status == 413


@pytest.mark.parametrize(
    "path", ["/overview", "/nix", "/sources.json", "/copy?item=x", "/api/v1/plan"]
)
def test_every_answer_is_sealed(full, path):
    headers = full.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    assert full.ask("GET", path).headers["x-content-type-options"] == "nosniff"


def test_pages_have_nothing_that_the_policy_would_stop(full):
    for path in ROUTES - WRITING - {
        "/copy", "/static/{name}", "/items/all.{form}", "/league",
    }:  # fmt: skip
        if path.endswith((".json", ".atom", ".svg")) or path == "/source":
            continue
        tree = html.fromstring(full.get(path).text)
        assert not tree.xpath("//style | //@style")
        assert {s.get("src") for s in tree.iter("script")} <= SCRIPTS
        assert not [a for a in tree.xpath("//@*") if a.attrname.startswith("on")]


def test_remote_text_is_only_ever_text(hostile, visit):
    here = visit(hostile[0])
    pages = ["overview", "sources", "plan", "what-if", "inbox", "audit"]
    for page in [*pages, *(f"source?name={n}" for n in ("pages", "list", "form"))]:
        answer = here.get(f"/{page}")
        assert answer.status == 200
        text = answer.text
        for bad in ("<script>alert", "<img", "<svg/onload", "\u202e"):
            assert bad not in text
        tree = html.fromstring(text)
        assert {one.get("src") for one in tree.iter("script")} <= SCRIPTS
        assert not tree.xpath("//img")
    assert "{{7*7}}" in here.get("/inbox").text
    assert "Queries tried" in here.get("/source?name=form").text


@pytest.mark.parametrize("name", [EVIL, "a' OR 1=1 --", "\x00", "../../etc/passwd"])
def test_hostile_parameters_are_only_ever_text(full, name):
    from urllib.parse import quote  # noqa: PLC0415

    for path in ("/source?name=", "/sources?q=", "/sources?sort=", "/what-if?budget="):
        answer = full.get(path + quote(name))
        assert answer.status in {200, 404}
        assert "<script>alert" not in answer.text
    assert full.get("/static/" + quote(name, safe="")).status == 404


def test_a_copy_is_a_file_and_never_a_page(hostile, visit):
    from urllib.parse import quote  # noqa: PLC0415

    answer = visit(hostile[0]).get("/copy?item=" + quote(hostile[1]))
    assert answer.body == b"<script>alert(4)</script>"
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]


def test_looking_changes_nothing(made, tmp_path, visit):
    shutil.copytree(made.parent, tmp_path / "seen")
    here = visit(tmp_path / "seen" / made.name)
    store = tmp_path / "seen" / "halflife.db"
    before = hashlib.sha256(store.read_bytes()).digest()
    for path in sorted((ROUTES | API) - WRITING - API_WRITING):
        here.get(filled(path))
    assert hashlib.sha256(store.read_bytes()).digest() == before


@pytest.mark.parametrize("bind", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_an_address_that_others_reach_is_refused_unless_that_is_meant(tmp_path, bind):
    with pytest.raises(UsageError, match="--expose"):
        prepare(ServeWish(tmp_path / "x.toml", port=0, bind=bind))


def test_an_exposed_server_has_a_token_too(tmp_path):
    served = prepare(
        ServeWish(tmp_path / "x.toml", port=0, bind="0.0.0.0", expose=True)
    )
    served.listening.close()
    assert len(served.address.partition("token=")[2]) >= 40


def test_errors_that_nobody_foresaw_show_a_number_alone(made, visit, capfd):
    here = visit(made)

    def broken(seen, params):
        raise RuntimeError("secret 10.0.0.7")

    here.site.answers["plan"] = broken
    answer = here.get("/plan")
    assert answer.status == 500
    assert "secret" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "Traceback" not in answer.text
    assert "secret 10.0.0.7" in capfd.readouterr().err
