/**
 * A pod that kubectl reaches through a real API server, on a kubelet with a real containerd. The kubelet runs a static pod. The test
 * registers the node's address and the pod in the API server.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, WebSocket } from 'undici';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../cleanups.ts';
import { sharedCluster, type TestCluster } from '../cluster/control-plane.ts';
import { aBusybox, aManifest, TestNode } from './test-node.ts';

const script = `
echo hello from stdout; echo hello from stderr >&2
echo page > /www/index.html; httpd -p 8080 -h /www
trap "exit 0" TERM
while :; do if [ -f /tmp/print ]; then cat /tmp/print; rm /tmp/print; fi; sleep 0.1; done`;
const cat = { name: 'cat', stdin: true };
const crashing = { name: 'crashing', sh: 'echo attempt at $(cat /proc/uptime); sleep 0.3; exit 3' };

/** Starts a pod. Its container `app` serves a page and prints the content of /tmp/print, `cat` echoes its input, and `crashing` exits repeatedly. */
export async function aReachablePod() {
  const hooks = new Cleanups();
  try {
    const cluster = await sharedCluster();
    hooks.after(() => cluster.close());
    return { ...(await startPod(cluster, hooks)), cluster, close: () => hooks.run() };
  } catch (err) {
    await hooks.run();
    throw err;
  }
}

async function startPod(cluster: TestCluster, hooks: Cleanups) {
  const namespace = await cluster.namespace(hooks);
  const port = await reservePort();
  const { certFile, keyFile } = cluster.controlPlane.kubeletServingCertificate('test-node');
  const node = await TestNode.start(hooks, {
    config: {
      port,
      tlsCertFile: certFile,
      tlsPrivateKeyFile: keyFile,
      authentication: { anonymous: { enabled: false }, webhook: { enabled: false }, x509: { clientCAFile: cluster.controlPlane.caFile } },
      authorization: { mode: 'AlwaysAllow' },
    },
  });
  await node.startKubelet();
  const containers = [aBusybox({ sh: script }), aBusybox(cat), aBusybox(crashing)];
  containers[1] = { ...containers[1]!, command: ['cat'] };
  node.apply(aManifest('web', { containers }, { namespace }));
  const running = await node.until('web', 'runs', ({ status }) =>
    (status?.containerStatuses ?? []).some(({ name, restartCount, state }) => name === 'crashing' && restartCount > 0 && !state?.running),
  );
  const pod = running.metadata.name;
  await registerNodeAndPod(cluster, hooks, running, port);

  const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcessWithoutNullStreams => {
    const [command, commandArgs, kubectlEnv] = cluster.kubectlCommand(['-n', namespace, ...args]);
    return spawn(command, commandArgs, { env: { ...kubectlEnv, ...env } });
  };
  const kubectl = async (args: readonly string[], options: { env?: NodeJS.ProcessEnv; input?: Buffer } = {}) => {
    const child = start(args, options.env);
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (data: Buffer) => out.push(data));
    child.stderr.on('data', (data: Buffer) => err.push(data));
    child.stdin.on('error', () => {}).end(options.input ?? '');
    const [code] = (await once(child, 'close')) as [number];
    return { code, bytes: Buffer.concat(out), stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
  };
  /** Connects to the kubelet directly, without the API server. */
  const admin = (): Agent => {
    const { certFile, keyFile } = cluster.controlPlane.adminCertificate;
    const files = { ca: cluster.controlPlane.caFile, cert: certFile, key: keyFile };
    const connect = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, readFileSync(file)]));
    const dispatcher = new Agent({ connect, bodyTimeout: 0 });
    hooks.after(() => dispatcher.destroy());
    return dispatcher;
  };
  const webSocket = (path: string, frames: Buffer[], protocol = 'v4.channel.k8s.io'): WebSocket => {
    const dispatcher = admin();
    const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, { protocols: [protocol], dispatcher });
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }) => frames.push(Buffer.from(data as ArrayBuffer)));
    return socket;
  };
  return { node, namespace, pod, port, start, kubectl, admin, webSocket };
}

async function registerNodeAndPod(cluster: TestCluster, hooks: Cleanups, running: Pod, port: number): Promise<void> {
  const nodes = '/api/v1/nodes';
  await cluster.api.create(nodes, { metadata: { name: 'test-node' } });
  hooks.after(() => cluster.api.delete(`${nodes}/test-node`));
  await cluster.api.patch(`${nodes}/test-node/status`, {
    status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], daemonEndpoints: { kubeletEndpoint: { Port: port } } },
  });
  const { name, namespace } = running.metadata;
  const spec = { ...running.spec, nodeName: 'test-node', tolerations: [{ operator: 'Exists' }] };
  const path = `/api/v1/namespaces/${namespace}/pods`;
  await cluster.api.create(path, { metadata: { name, annotations: { 'kubernetes.io/config.mirror': 'by hand' } }, spec });
  await cluster.api.patch<Pod>(`${path}/${name}/status`, { status: { ...running.status, phase: 'Running' } });
}
