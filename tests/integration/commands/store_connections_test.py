"""The way to a store: TLS, certificates and proxies."""

import unittest

from support import sampling
from support.case import SwiprCase
from support.stores import engine_cases, engines, web_fronts

LOGIN = "user:word"


class ConnectionCase(SwiprCase):
    def setUp(self):
        super().setUp()
        self.engines = engines.Engines()
        self.addCleanup(self.engines.close)
        self.profile = self.folder / "profile.pb.gz"
        self.profile.write_bytes(engine_cases.pprof())

    def front(self, name="store"):
        files = web_fronts.certificate(self.folder, name)
        front = web_fronts.TlsFront(files, self.engines.address)
        self.addCleanup(front.close)
        return front, files[0]

    def proxy(self):
        proxy = web_fronts.Proxy(LOGIN)
        self.addCleanup(proxy.close)
        return proxy

    def push(self, url, *arguments, **options):
        return self.swipr("push", self.profile, f"pyroscope+{url}", *arguments, **options)

    def assert_refused(self, pattern, url, *arguments, **options):
        self.assert_one_line_error(self.push(url, *arguments, expect=None, **options), pattern, codes=(1,))
        self.assertEqual(self.engines.received(), [])


@sampling.sampled
class TlsTest(ConnectionCase):
    def test_a_store_whose_certificate_is_trusted_has_the_profile(self):
        front, certificate = self.front()
        self.push(f"https://localhost:{front.port}", "--ca-file", certificate)
        self.assertEqual(len(self.engines.received()), 1)

    def test_a_certificate_that_nobody_knows_is_refused(self):
        front, _ = self.front()
        _, other = self.front("other")
        self.assert_refused("cannot be verified: self", f"https://localhost:{front.port}")
        self.assert_refused("cannot be verified: self", f"https://localhost:{front.port}", "--ca-file", other)

    def test_a_certificate_for_another_name_is_refused(self):
        front, certificate = self.front()
        self.assert_refused("another host name", f"https://127.0.0.1:{front.port}", "--ca-file", certificate)

    def test_files_that_hold_no_certificate_are_named(self):
        front, _ = self.front()
        url = f"https://localhost:{front.port}"
        self.assert_refused("cannot read /missing", url, "--ca-file", "/missing")
        self.assert_refused("no certificate", url, "--ca-file", self.profile)

    def test_a_store_that_speaks_no_tls_is_an_error(self):
        self.assert_refused("no tls connection: wrong version number", f"https://{self.engines.address}".replace("127.0.0.1", "localhost"))


@sampling.sampled
class ProxyTest(ConnectionCase):
    def through(self, proxy, login=LOGIN, **others):
        url = f"http://{login}@127.0.0.1:{proxy.port}"
        return {"http_proxy": url, "https_proxy": url, "no_proxy": "", "NO_PROXY": "", **others}

    def test_tls_passes_through_a_proxy_that_cannot_read_it(self):
        front, certificate = self.front()
        proxy = self.proxy()
        self.push(f"https://localhost:{front.port}", "--ca-file", certificate, env=self.through(proxy))
        self.assertEqual(proxy.seen, [f"CONNECT localhost:{front.port} HTTP/1.1"])
        self.assertEqual(len(self.engines.received()), 1)

    def test_the_certificate_behind_a_proxy_is_checked_too(self):
        front, _ = self.front()
        self.assert_refused("certificate", f"https://localhost:{front.port}", env=self.through(self.proxy()))

    def test_plain_requests_go_to_the_proxy_with_the_whole_url(self):
        proxy = self.proxy()
        self.push(self.engines.url, env=self.through(proxy))
        self.assertEqual(proxy.seen, [f"POST {self.engines.url}/push.v1.PusherService/Push HTTP/1.1"])
        self.assertEqual(len(self.engines.received()), 1)

    def test_a_proxy_that_refuses_is_named(self):
        front, certificate = self.front()
        proxy = self.proxy()
        environment = self.through(proxy, "user:wrong")
        self.assert_refused("proxy", f"https://localhost:{front.port}", "--ca-file", certificate, env=environment)
        self.assert_refused("407", self.engines.url, env=environment)
        self.assertEqual(proxy.seen, [])

    def test_no_proxy_leads_past_it(self):
        proxy = self.proxy()
        self.push(self.engines.url, env=self.through(proxy, no_proxy="127.0.0.1"))
        self.assertEqual((proxy.seen, proxy.refused), ([], 0))
        self.assertEqual(len(self.engines.received()), 1)


if __name__ == "__main__":
    unittest.main()
