/** Pulls that fail: reasons that only some runtimes give, through a proxy of the CRI, and registries that are down or hostile. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { grpcCode } from '../../src/shared/cri/cri-error.ts';
import type { PullImageRequest } from '../../src/shared/cri/generated/cri-v1.ts';
import { Cleanups } from '../support/cleanups.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { startHostileRuntime } from '../support/runtime/hostile-runtime.ts';

const hooks = new Cleanups();
let node: TestNode;
/** What the runtime answers to a pull of these images, with the code Unknown. */
const failures = new Map<string, string>();

before(async () => {
  const config: Record<string, unknown> = {};
  node = await TestNode.start(hooks, { config });
  const proxy = await startHostileRuntime(
    hooks,
    node.containerd.endpoint,
    ({ bytes }) => bytes,
    (call, request) => {
      const details = call === 'PullImage' ? failures.get((request as PullImageRequest).image?.image ?? '') : undefined;
      return details === undefined ? null : { code: grpcCode.UNKNOWN, details };
    },
  );
  config['imageServiceEndpoint'] = proxy.endpoint;
  await node.startKubelet();
});
after(() => hooks.run());

const apply = (name: string, image: string) =>
  node.apply(aManifest(name, { containers: [aBusybox({ image, imagePullPolicy: 'Always' })] }));
/** Waits until the container waits with this reason. Returns the message. */
async function untilWaiting(name: string, ...reasons: readonly string[]): Promise<string> {
  const { status } = await node.until(name, `waits with ${reasons.join(' or ')}`, ({ status: current }) =>
    reasons.includes(current?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
  );
  return status?.containerStatuses?.[0]?.state?.waiting?.message ?? '';
}
/** The messages of the pod's warnings in the log, as far as they are quoted without escapes. */
const warningsOf = (name: string) =>
  node
    .log()
    .split('\n')
    .filter((line) => line.includes(`object="default/${name}-${node.nodeName}"`) && line.includes('type="Warning"'));

/** Serves on 127.0.0.1, where containerd needs no TLS. Returns `127.0.0.1:<port>`. */
async function aRegistry(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  hooks.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const runtimeReasons = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
};
test('the runtime’s reasons RegistryUnavailable and SignatureValidationFailed are those of the container, in status and events', async () => {
  const cases = Object.entries(runtimeReasons).map(([reason, cause]) => {
    const name = reason.toLowerCase();
    const image = `registry.test/${name}:1`;
    failures.set(image, `${reason}: more about it`);
    apply(name, image);
    return { reason, name, image, message: `image pull failed for ${image} because ${cause}: more about it` };
  });
  for (const { reason, name, image, message } of cases) {
    assert.equal(await untilWaiting(name, reason), message);
    const events = warningsOf(name).join('\n');
    assert.match(events, new RegExp(`reason="Failed" eventMessage="Failed to pull image \\\\"${image}\\\\": ${reason}: more about it"`));
    assert.match(events, new RegExp(`reason="Failed" eventMessage="Error: ${reason}"`));
  }
  const failedAtMs = Date.now();
  for (const { reason, name, image, message } of cases) {
    assert.equal(await untilWaiting(name, 'ImagePullBackOff'), `Back-off pulling image "${image}": ${reason}: ${message}`);
    node.delete(name);
  }
  // It takes a second, and no further pull after ten.
  assert.ok(Date.now() - failedAtMs < 8000);
});

test('a registry that is down, or answers 503, is ErrImagePull with the runtime’s error', async () => {
  apply('down', '127.0.0.1:1/team/app:1');
  const unavailable = await aRegistry((_, response) => response.writeHead(503).end('geheim'));
  apply('unavailable', `${unavailable}/team/app:1`);
  assert.match(
    await untilWaiting('down', 'ErrImagePull', 'ImagePullBackOff'),
    /failed to pull and unpack image "127\.0\.0\.1:1\/team\/app:1": .*connection refused$/,
  );
  assert.match(
    await untilWaiting('unavailable', 'ErrImagePull', 'ImagePullBackOff'),
    /failed to pull and unpack image .*503 Service Unavailable$/,
  );
  for (const name of ['down', 'unavailable']) node.delete(name);
});
