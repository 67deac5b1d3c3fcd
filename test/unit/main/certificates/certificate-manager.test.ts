import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { parsePair, type CertificatePair } from '../../../../src/main/certificates/certificate-pair.ts';
import { nodeTemplate } from '../../../../src/main/certificates/request/request-template.ts';
import { CertificateManager, type CertificateManagerOptions } from '../../../../src/main/certificates/rotation/certificate-manager.ts';
import type { PendingKey } from '../../../../src/main/certificates/store/pending-key.ts';
import { generateKey } from '../../../../src/main/certificates/request/generate-key.ts';
import * as der from '../../../../src/shared/x509/der.ts';
import { ipAddress } from '../../../../src/shared/x509/general-names.ts';
import { extension, type CertificateRequest } from '../../../support/api-server/certificates.ts';
import { apiError } from '../../../support/api-server/fake-api.ts';
import { requestsPath, ScriptedSigner, textOf } from '../../../support/certificates/scripted-signer.ts';
import { until } from '../../../support/certificates/until.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';

const [second, minute, hour] = [1000, 60_000, 3_600_000];
const node = { commonName: 'system:node:node-a', organizations: ['system:nodes'] };

function setUp(t: TestContext, over: Partial<CertificateManagerOptions> = {}) {
  const signer = new ScriptedSigner();
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const issued: CertificatePair[] = [];
  const saved: CertificatePair[] = [];
  const access: (CertificatePair | null)[] = [];
  const counts = { failed: 0, discarded: 0 };
  let storeError: Error | null = null;
  let key = generateKey();
  const pendingKey = {
    loadOrGenerate: () => key,
    discard: async () => {
      counts.discarded += 1;
      key = generateKey();
    },
  } as Pick<PendingKey, 'loadOrGenerate' | 'discard'> as PendingKey;
  const manager = CertificateManager.start({
    purpose: 'client',
    template: () => nodeTemplate('node-a'),
    store: {
      currentPath: '/pki/kubelet-client-current.pem',
      save: async (pair) => {
        if (storeError) throw storeError;
        saved.push(pair);
      },
    },
    initial: null,
    rotates: true,
    openAccess: async (current) => {
      access.push(current);
      return {
        client: signer.api,
        credentials: '/boot',
        pendingKey: current || over.purpose === 'serving' ? null : pendingKey,
        close: async () => {},
      };
    },
    onIssued: (pair) => void issued.push(pair),
    metrics: { failed: () => (counts.failed += 1), replaced: () => {}, notAfterMs: () => {} },
    clock,
    logger,
    random: () => 0.5,
    ...over,
  });
  t.after(() => manager.close());
  const requested = async (count: number) => {
    await until('the next step', () => signer.created.length === count);
    await until('the next step', () => signer.api.watches.some(({ isOpen }) => isOpen));
  };
  const validFor = (ms: number): CertificateRequest => ({ ...node, validFromMs: clock.now(), validToMs: clock.now() + ms });
  return {
    signer,
    clock,
    manager,
    issued,
    saved,
    access,
    counts,
    lines,
    requested,
    validFor,
    failStore: (err: Error | null) => (storeError = err),
  };
}

function initialPair(signer: ScriptedSigner, fields: CertificateRequest): CertificatePair {
  const { cert, key } = signer.authority.issue({ ...node, ...fields });
  return parsePair(cert, key);
}

test('the first certificate is requested at once, and used and stored when it is issued', async (t) => {
  const { signer, requested, issued, saved, validFor, access, counts } = setUp(t);
  await requested(1);
  assert.match(signer.last.metadata.name, /^node-csr-/);
  signer.issue(validFor(hour));
  await until('the next step', () => saved.length === 1);
  assert.deepEqual(issued, saved);
  assert.deepEqual(access, [null]);
  assert.equal(counts.discarded, 1);
});

test('a certificate is renewed at its deadline with its own credentials and a new key', async (t) => {
  const { signer, clock, requested, issued, validFor, access } = setUp(t);
  await requested(1);
  signer.issue(validFor(10 * hour));
  await until('the next step', () => issued.length === 1);
  await clock.advance(8 * hour - minute);
  assert.equal(signer.created.length, 1);
  await clock.advance(2 * minute);
  await requested(2);
  assert.match(signer.last.metadata.name, /^csr-/);
  assert.equal(access.at(-1), issued[0]);
  signer.issue(validFor(10 * hour));
  await until('the next step', () => issued.length === 2);
  assert.notEqual(issued[1]!.key, issued[0]!.key);
});

test('with an expired certificate, which stays in use, the other credentials request the next one', async (t) => {
  const signer = new ScriptedSigner();
  const clock = new FakeClock();
  const initial = initialPair(signer, { validFromMs: clock.now() - 2 * hour, validToMs: clock.now() - hour });
  const { requested, access, manager } = setUp(t, { initial });
  await requested(1);
  assert.deepEqual(access, [null]);
  assert.equal(manager.current, initial);
});

test('when the other credentials are refused, the certificate that seems to have expired is tried', async (t) => {
  const signer = new ScriptedSigner();
  const clock = new FakeClock();
  const initial = initialPair(signer, { validFromMs: clock.now() - 2 * hour, validToMs: clock.now() - hour });
  const { signer: used, clock: running, access, counts, requested } = setUp(t, { initial });
  used.api.once('POST', requestsPath, apiError(401, 'Unauthorized'));
  await until('the first failure', () => counts.failed === 1);
  await running.advance(3 * second);
  await requested(1);
  assert.deepEqual(access, [null, initial]);
});

test('a certificate that the API server refuses is renewed with the other credentials, at most every five minutes', async (t) => {
  const { signer, clock, manager, requested, issued, validFor, access, counts } = setUp(t);
  await requested(1);
  signer.issue(validFor(10 * hour));
  await until('the next step', () => issued.length === 1);
  await clock.advance(10 * minute);
  signer.api.once('POST', requestsPath, apiError(401, 'Unauthorized'));
  manager.renewRefused();
  await clock.advance(second);
  await until('the next step', () => counts.failed === 1);
  await settle();
  await clock.advance(3 * second);
  await requested(2);
  assert.deepEqual(access, [null, issued[0], null]);
  signer.issue(validFor(10 * hour));
  await until('the next step', () => issued.length === 2);
  manager.renewRefused();
  await clock.advance(4 * minute);
  assert.equal(signer.created.length, 2);
  manager.renewRefused();
  await clock.advance(2 * minute);
  manager.renewRefused();
  await clock.advance(second);
  await requested(3);
  assert.equal(access.at(-1), issued[1]);
});

test('a valid certificate that somebody has stored replaces an expired one', async (t) => {
  const signer = new ScriptedSigner();
  const clock = new FakeClock();
  const initial = initialPair(signer, { validFromMs: clock.now() - 2 * hour, validToMs: clock.now() - hour });
  const stored = initialPair(signer, { validFromMs: clock.now() - hour, validToMs: clock.now() + 10 * hour });
  const { issued, manager, signer: used } = setUp(t, { initial, reload: async () => stored });
  await until('the next step', () => issued.length === 1);
  assert.equal(manager.current, stored);
  assert.equal(used.created.length, 0);
});

test('a denied request is repeated with another key, ever more rarely', async (t) => {
  const { signer, clock, requested, counts, lines } = setUp(t);
  const names = new Set<string>();
  for (const [index, delay] of [2, 4, 8, 16, 32, 64].entries()) {
    await requested(index + 1);
    names.add(signer.last.metadata.name);
    signer.deny();
    await until('the next step', () => counts.failed === index + 1);
    await settle();
    await clock.advance(delay * second);
    assert.equal(signer.created.length, index + 1);
    await clock.advance(delay * 0.1 * second);
  }
  await requested(7);
  assert.equal(names.size, 6);
  const failures = lines.filter(({ err }) =>
    String(err).includes('certificate signing request is denied, reason: Policy, message: not here'),
  );
  assert.deepEqual(new Set(failures.map(({ credentials }) => credentials)), new Set(['/boot']));
});

test('a certificate of another node is never used', async (t) => {
  const { signer, requested, counts, issued, validFor, lines } = setUp(t);
  await requested(1);
  signer.issue({ ...validFor(hour), commonName: 'system:node:node-b' });
  await until('the next step', () => counts.failed === 1);
  assert.deepEqual(issued, []);
  assert.equal(counts.discarded, 1);
  assert.ok(lines.some(({ err }) => String(err).includes('lacks the common name "system:node:node-a"')));
});

test('a request that was deleted is made again', async (t) => {
  const { signer, clock, requested, counts } = setUp(t);
  await requested(1);
  signer.delete();
  await until('the next step', () => counts.failed === 1);
  await settle();
  await clock.advance(3 * second);
  await requested(2);
});

test('an existing request of the same key is taken up', async (t) => {
  const { signer, clock, requested, counts, issued, validFor, lines } = setUp(t);
  // The response to the first creation is lost.
  signer.api.once('POST', requestsPath, (call: { body: unknown }) => {
    void signer.api.call({ method: 'POST', path: requestsPath, body: call.body, trafficClass: 'node' });
    return apiError(0, 'Unreachable');
  });
  await until('the next step', () => counts.failed === 1);
  await settle();
  await clock.advance(3 * second);
  await until('the next step', () => lines.some(({ msg }) => msg === 'csr for this node already exists, reusing'));
  await requested(1);
  signer.issue(validFor(hour));
  await until('the next step', () => issued.length === 1);
});

test('while the API server is away nothing is lost, and the request follows', async (t) => {
  const { signer, clock, requested, counts, issued, validFor } = setUp(t);
  await requested(1);
  signer.issue(validFor(10 * hour));
  await until('the next step', () => issued.length === 1);
  let isAway = true;
  for (let call = 0; call < 400; call += 1) {
    signer.api.once('POST', requestsPath, ({ body }: { body: unknown }) =>
      isAway ? apiError(0, 'Unreachable') : signer.api.call({ method: 'POST', path: requestsPath, body, trafficClass: 'node' }),
    );
  }
  await clock.advance(8 * hour + second);
  for (let failures = 1; failures <= 20; failures += 1) {
    await until('the next step', () => counts.failed >= failures);
    await settle();
    await clock.advance(36 * second);
  }
  isAway = false;
  await clock.advance(36 * second);
  await until('the next step', () => signer.created.length === 2);
  await requested(2);
  signer.issue(validFor(10 * hour));
  await until('the next step', () => issued.length === 2);
});

test('an interrupted watch is continued by a new one', async (t) => {
  const { signer, clock, requested, issued, validFor } = setUp(t);
  await requested(1);
  signer.api.watches[0]!.fail();
  await settle();
  await clock.advance(second);
  await until('the next step', () => signer.api.watches.length === 2);
  signer.issue(validFor(hour));
  await until('the next step', () => issued.length === 1);
});

test('a request that nobody approves is a warning after 30 seconds, then every five minutes, and none once it is issued', async (t) => {
  const { signer, clock, requested, issued, lines, validFor } = setUp(t);
  await requested(1);
  const csr = signer.last.metadata.name;
  const pending = () => lines.filter(({ level, pendingSeconds }) => level === 40 && pendingSeconds !== undefined);
  await clock.advance(29 * second);
  assert.deepEqual(pending(), []);
  await clock.advance(11 * minute);
  assert.deepEqual(
    pending().map((line) => [line['csr'], line['pendingSeconds']]),
    [30, 330, 630].map((seconds) => [csr, seconds]),
  );
  signer.issue(validFor(10 * hour));
  await until('the next step', () => issued.length === 1);
  await clock.advance(hour);
  assert.equal(pending().length, 3);
});

test('a request that nobody approves ends after an hour, and the same request is watched again', async (t) => {
  const { clock, requested, counts, lines } = setUp(t);
  await requested(1);
  await clock.advance(hour);
  await until('the next step', () => counts.failed === 1);
  assert.ok(lines.some(({ err }) => /was not signed within 60 minutes/.test(String(err))));
  await clock.advance(3 * second);
  await requested(1);
  assert.equal(counts.discarded, 0);
});

test('a certificate that can not be stored is used, and stored later', async (t) => {
  const { signer, clock, requested, issued, saved, validFor, failStore, counts } = setUp(t);
  failStore(new Error('ENOSPC: no space left on device'));
  await requested(1);
  signer.issue(validFor(10 * hour));
  await until('the next step', () => issued.length === 1 && counts.failed === 1);
  await settle();
  await clock.advance(10 * second);
  assert.deepEqual(saved, []);
  failStore(null);
  await clock.advance(minute);
  await until('the next step', () => saved.length === 1);
  assert.equal(signer.created.length, 1);
  assert.equal(counts.failed, 1);
});

test('a clock that is hours ahead causes no loop of requests', async (t) => {
  const { signer, clock, requested, issued, lines } = setUp(t);
  const serverNow = () => clock.now() - 10 * hour;
  await requested(1);
  signer.issue({ ...node, validFromMs: serverNow(), validToMs: serverNow() + hour });
  await until('the next step', () => issued.length === 1);
  assert.ok(lines.some(({ msg }) => msg.includes('the clock is wrong')));
  await clock.advance(47 * minute);
  assert.equal(signer.created.length, 1);
  await clock.advance(2 * minute);
  await requested(2);
});

test('other addresses end a request, and the certificate is requested for them', async (t) => {
  let address = '10.0.0.1';
  const template = () => nodeTemplate('node-a', { dnsNames: [], ipAddresses: [address] });
  const { signer, clock, manager, requested, issued, validFor, counts } = setUp(t, { purpose: 'serving', template });
  const withAddress = () => ({
    ...validFor(10 * hour),
    extensions: [extension('2.5.29.17', der.sequence(ipAddress(address)))],
  });
  await requested(1);
  address = '10.0.0.2';
  manager.templateChanged();
  await until('the next step', () => signer.created.length === 2);
  assert.ok(textOf(signer.last).includes('\x0a\x00\x00\x02'));
  await requested(2);
  signer.issue(withAddress());
  await until('the next step', () => issued.length === 1);
  assert.equal(counts.failed, 0);
  // An issued certificate is replaced for the next change, too.
  address = '10.0.0.3';
  manager.templateChanged();
  await clock.advance(second);
  await until('the next step', () => signer.created.length === 3);
});

test('a serving certificate that lacks names is used, and requested again ever more rarely', async (t) => {
  const template = () => nodeTemplate('node-a', { dnsNames: ['node-a'], ipAddresses: ['10.0.0.1'] });
  const { signer, clock, requested, issued, validFor, counts, lines } = setUp(t, { purpose: 'serving', template });
  for (const [index, delay] of [2, 4, 8, 16].entries()) {
    await requested(index + 1);
    signer.issue(validFor(10 * hour));
    await until('it is used', () => issued.length === index + 1 && counts.failed === index + 1);
    await clock.advance(delay * second);
    assert.equal(signer.created.length, index + 1);
    await clock.advance(delay * 0.1 * second);
  }
  assert.ok(lines.some(({ err }) => String(err).includes('which is in use, lacks the DNS name node-a')));
});

test('nothing is requested while the names are not known', async (t) => {
  let template: ReturnType<typeof nodeTemplate> | null = null;
  const { signer, clock, manager, requested } = setUp(t, { template: () => template });
  await clock.advance(hour);
  assert.equal(signer.created.length, 0);
  template = nodeTemplate('node-a');
  manager.templateChanged();
  await clock.advance(second);
  await requested(1);
});
