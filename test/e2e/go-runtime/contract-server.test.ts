/**
 * What Go's HTTP server does without a word: compression, the length of headers, requests without TLS; and a log that nobody reads. Each condition's outcome stands in
 * docs/go-runtime.md, beside the Go kubelet's.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { before, test } from 'node:test';
import { TestAuthority, type Issued } from '../../support/api-server/certificates.ts';
import { aPod, enterNetwork, isRunning, lastOf, podOf, startHost } from '../../support/go-runtime/host.ts';
import { assertOutcome } from '../../support/go-runtime/outcomes.ts';
import { aFolder, ensureBuilt } from '../../support/kubelet/kubelet-command.ts';

before(ensureBuilt);

test('compression, long request lines, a log whose reader ends', async (t) => {
  enterNetwork();
  const authority = new TestAuthority('clients');
  const clientCAFile = join(aFolder(t), 'clients.pem');
  writeFileSync(clientCAFile, authority.cert);
  const host = await startHost(t, {
    config: {
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false }, x509: { clientCAFile } },
      enableSystemLogHandler: true,
      enableSystemLogQuery: true,
    },
    setUp: 'seq 1 2000 > /var/log/contract.log',
  });
  const get = async (path: string, headers: Record<string, string>, client?: Issued): Promise<IncomingMessage> => {
    const sent = request({ host: '127.0.0.1', port: host.securePort, path, headers, rejectUnauthorized: false, agent: false, ...client });
    const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
    response.resume().on('error', () => {});
    return response;
  };
  const encodingOf = async (path: string, accepted: string) => {
    const { statusCode, headers } = await get(path, { 'accept-encoding': accepted });
    return `${statusCode}, ${headers['content-encoding'] ?? 'as it is'}`;
  };
  assertOutcome('`/metrics` with `Accept-Encoding: gzip;q=0`', await encodingOf('/metrics', 'gzip;q=0'));
  assertOutcome('`/metrics` with `Accept-Encoding: deflate, gzip;q=0.5`', await encodingOf('/metrics', 'deflate, gzip;q=0.5'));
  assertOutcome('`/logs/?query=` with `Accept-Encoding: gzip`', await encodingOf('/logs/?query=contract', 'gzip'));
  assertOutcome('`/logs/?query=` with `Accept-Encoding: gzip;q=0`', await encodingOf('/logs/?query=contract', 'gzip;q=0'));

  const long = `/healthz?command=${'x'.repeat(900 * 1024)}`;
  const verified = authority.issue({ commonName: 'kube-apiserver', usages: ['client'] });
  const replyTo = (client?: Issued) =>
    get(long, {}, client).then(
      ({ statusCode }) => (statusCode === 200 ? 'is accepted' : 'is refused'),
      // The server may close the connection before the client has sent everything.
      () => 'is refused',
    );
  assertOutcome('a request line of 900 KiB, from a client with a verified certificate', await replyTo(verified));
  assertOutcome('a request line of 900 KiB, from another client', await replyTo());

  const plain = connect(host.securePort, '127.0.0.1').end('GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n');
  assertOutcome('a request in plain HTTP at the secure port', JSON.stringify(await text(plain)));

  const { kubelet } = host;
  kubelet.closeLog();
  // Causes lines in the log.
  writeFileSync(join(host.folder, 'manifests/invalid.yaml'), 'a: [');
  writeFileSync(join(host.folder, 'manifests/valid.yaml'), aPod('valid'));
  const seen = await lastOf(
    async () => (!isRunning(kubelet) ? 'ends' : (await podOf(host, 'valid')) ? 'runs on' : undefined),
    () => true,
  );
  assertOutcome('the reader of stderr ends, as with a restart of the journal', `the kubelet ${seen}`);
});
