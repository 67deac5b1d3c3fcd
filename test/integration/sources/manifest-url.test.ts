/** The manifest URL over real HTTP: redirects, credentials, limits. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createSecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { manifestFetcher } from '../../../src/main/sources/fetch-manifest.ts';

async function aServer(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function aFetcher(t: TestContext) {
  const { fetchManifest, close } = manifestFetcher();
  t.after(close);
  return async (url: string, headers: Record<string, string[]> = {}, signal = new AbortController().signal) =>
    new TextDecoder().decode(await fetchManifest(url, headers, signal));
}

test('headers and credentials of the URL are sent', async (t) => {
  const seen: IncomingMessage[] = [];
  const host = await aServer(t, (request, response) => {
    seen.push(request);
    response.end('a pod');
  });
  assert.equal(await aFetcher(t)(`http://user:p%40ss@${host}/pod`, { 'X-Token': ['a', 'b'], Host: ['elsewhere'] }), 'a pod');
  assert.equal(seen[0]?.headers['authorization'], `Basic ${Buffer.from('user:p@ss').toString('base64')}`);
  assert.equal(seen[0]?.headers['x-token'], 'a, b');
  assert.equal(seen[0]?.headers.host, host);
});

test('a redirect is followed, and another host gets no credentials', async (t) => {
  const seen: (string | undefined)[] = [];
  const target = await aServer(t, (request, response) => {
    seen.push(request.headers['authorization'], request.headers['x-other'] as string);
    response.end('moved pod');
  });
  const host = await aServer(t, (_, response) => {
    response.writeHead(302, { location: `http://${target.replace('127.0.0.1', 'localhost')}/pod` }).end();
  });
  assert.equal(await aFetcher(t)(`http://${host}/`, { Authorization: ['Bearer secret'], 'X-Other': ['x'] }), 'moved pod');
  assert.deepEqual(seen, [undefined, 'x']);
});

test('https is verified by the host’s authorities, and an intermediate one of them is a trust anchor', async (t) => {
  const root = new TestAuthority('root');
  const intermediate = new TestAuthority('intermediate', root);
  const file = join(mkdtempSync(join(tmpdir(), 'kubelet-url-')), 'authorities.pem');
  t.after(() => rmSync(dirname(file), { recursive: true }));
  writeFileSync(file, intermediate.cert);
  // Node reads the host's authorities once in a process, with the first use.
  const script = `
    import { manifestFetcher } from '${new URL('../../../src/main/sources/fetch-manifest.ts', import.meta.url).pathname}';
    const { fetchManifest, close } = manifestFetcher();
    console.log(await fetchManifest(process.argv[1], {}, new AbortController().signal).then((body) => new TextDecoder().decode(body), (err) => err.code));
    await close();`;
  const fetched = async (authority: TestAuthority) => {
    const { cert, key } = authority.issue({ commonName: 'manifests', address: '127.0.0.1' });
    const server = createSecureServer({ cert, key }, (_, response) => void response.end('a pod'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const env = { ...process.env, SSL_CERT_FILE: file, SSL_CERT_DIR: '/nowhere' };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script, url], { env });
    return stdout.trim();
  };
  assert.equal(await fetched(intermediate), 'a pod');
  assert.match(await fetched(new TestAuthority('stranger')), /UNABLE_TO|SELF_SIGNED/);
});

test('NO_PROXY with a range of addresses applies to the manifest URL', async (t) => {
  // The address 0.0.0.0 leads to this host, and is not among those that never use a proxy.
  const port = (await aServer(t, (_, response) => response.end('direct'))).split(':')[1];
  const proxy = await aServer(t, (_, response) => response.end('by the proxy'));
  const { http_proxy, HTTP_PROXY, NO_PROXY, no_proxy } = process.env;
  t.after(() => restore({ http_proxy, HTTP_PROXY, NO_PROXY, no_proxy }));
  restore({ http_proxy: undefined, HTTP_PROXY: `http://${proxy}`, NO_PROXY: '10.0.0.0/8', no_proxy: undefined });
  assert.equal(await aFetcher(t)(`http://0.0.0.0:${port}/`), 'by the proxy');
  restore({ NO_PROXY: '10.0.0.0/8,0.0.0.0/8' });
  assert.equal(await aFetcher(t)(`http://0.0.0.0:${port}/`), 'direct');
});

function restore(environment: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

test('an endless redirect fails after ten requests', async (t) => {
  let requests = 0;
  const host = await aServer(t, (_, response) => {
    requests += 1;
    response.writeHead(301, { location: '/again' }).end();
  });
  await assert.rejects(aFetcher(t)(`http://${host}/`), /stopped after 10 redirects/);
  assert.equal(requests, 10);
});

test('another status than 200 is an error with the URL and the status, without the password', async (t) => {
  const host = await aServer(t, (_, response) => void response.writeHead(503).end('sorry'));
  await assert.rejects(aFetcher(t)(`http://user:secret@${host}/pod`), new Error(`http://${host}/pod: 503`));
});

test('an endless body fails at 10 MB', async (t) => {
  const host = await aServer(t, (_, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(1 << 20, 'a')));
      response.once('drain', more);
    };
    more();
  });
  await assert.rejects(aFetcher(t)(`http://${host}/`), /too large for a manifest/);
});

test('a request to a hanging server is aborted when the source closes', async (t) => {
  const host = await aServer(t, () => {});
  const stop = new AbortController();
  const fetching = aFetcher(t)(`http://${host}/`, {}, stop.signal);
  stop.abort(new Error('closed'));
  await assert.rejects(fetching, /closed/);
});

test('another scheme than HTTP is refused', async (t) => {
  await assert.rejects(aFetcher(t)('ftp://host/pod'), /unsupported protocol scheme "ftp"/);
});
