/** `npm run cluster` after packages and modules are installed: starts control plane and containerd concurrently, then the kubelet. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build, isBuilt } from '../../lab/kubelet/build.ts';
import type { ApiClient } from '../../lab/control-plane/control-plane-api.ts';
import { clusterMember } from '../../lab/control-plane/control-plane-member.ts';
import { ControlPlane } from '../../lab/control-plane/control-plane.ts';
import { busyboxImage, pauseImage } from '../../lab/containerd/local-images.ts';
import { containerdEndpoint, PrivateContainerd, findRunningContainerd } from '../../lab/containerd/private-containerd.ts';
import { findRunningPid, startDaemon, stopDaemon } from '../../lab/host/daemon.ts';
import { kubeletConfigText } from './kubelet-config.ts';
import { kubelet, clusterPaths, project } from './cluster-paths.ts';

/** A kubelet is normally Ready a few seconds after its start. */
const readyDeadlineMs = 60_000;

interface Node {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] };
}

const startedMs = performance.now();

/** Prints a step with the seconds since the start. */
function progress(what: string): void {
  console.log(`==> ${((performance.now() - startedMs) / 1000).toFixed(1).padStart(4)} s  ${what}`);
}

/** Prints `what` when the step is done. */
async function progressAfter<T>(what: string, step: Promise<T>): Promise<T> {
  const result = await step;
  progress(what);
  return result;
}

async function startContainerd(): Promise<string> {
  if (findRunningContainerd(clusterPaths.containerd) !== undefined) {
    progress('the private containerd runs already');
    return containerdEndpoint(clusterPaths.containerd);
  }
  progress(`starting a private containerd in ${clusterPaths.containerd}, with the example images`);
  const imageCache = join(project, '.cache/images');
  const { endpoint } = await PrivateContainerd.start({ folder: clusterPaths.containerd, network: '10.98', imageCache, detached: true });
  progress('containerd is ready');
  return endpoint;
}

/** Returns null when the node is Ready, else the reason why it is not. */
async function whyNotReady(api: ApiClient): Promise<string | null> {
  if (findRunningPid(kubelet) === undefined) {
    const log = readFileSync(clusterPaths.kubeletLog, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
    throw new Error(`the kubelet has ended; the end of ${clusterPaths.kubeletLog}:\n${log}`);
  }
  // The API server may still have the status of the previous kubelet.
  if (!(await isHealthy())) return `the kubelet does not answer on port ${clusterPaths.healthzPort}`;
  const node = await api.find<Node>(`/api/v1/nodes/${clusterPaths.nodeName}`);
  if (node === undefined) return `the API server knows no node ${clusterPaths.nodeName}`;
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined) return 'it has reported no status';
  return ready.status === 'True' ? null : `Ready is ${ready.status}: ${ready.message ?? ''}`;
}

async function isHealthy(): Promise<boolean> {
  try {
    const { ok } = await fetch(`http://127.0.0.1:${clusterPaths.healthzPort}/healthz`, { signal: AbortSignal.timeout(2000) });
    return ok;
  } catch {
    return false;
  }
}

async function waitUntilNodeReady(controlPlane: ControlPlane): Promise<void> {
  const api = controlPlane.client();
  const endMs = performance.now() + readyDeadlineMs;
  try {
    for (;;) {
      const reason = await whyNotReady(api);
      if (reason === null) return;
      if (performance.now() > endMs) {
        throw new Error(
          `node ${clusterPaths.nodeName} is not Ready after ${readyDeadlineMs / 1000} s (${reason}); the kubelet's log is ${clusterPaths.kubeletLog}`,
        );
      }
      await sleep(100);
    }
  } finally {
    await api.close();
  }
}

function usageText(controlPlane: ControlPlane): string {
  return `
kubeconfig: ${controlPlane.adminKubeconfig}
To try:
  export KUBECONFIG=${controlPlane.adminKubeconfig} PATH=${dirname(controlPlane.kubectl)}:$PATH
  kubectl get nodes,pods -A
  kubectl apply -f examples/web.yaml -f examples/sidecar.yaml
  kubectl logs -f sidecar -c log-reader
  kubectl attach sidecar -c log-reader
  kubectl exec -it web -c httpd -- sh
  kubectl cp README.md web:/tmp/ -c httpd
  kubectl port-forward web 8080
  kubectl debug -it web --image ${busyboxImage} --target httpd -- sh
  kubectl create deployment busy --image ${busyboxImage} --replicas 3 -- sleep 1000
  kubectl describe node ${clusterPaths.nodeName}
  kubectl delete pod web sidecar
Images without a registry: ${busyboxImage} and ${pauseImage}
Static pods: ${clusterPaths.staticPods}. Logs: ${clusterPaths.kubeletLog} and ${clusterPaths.controlPlane}/*.log
npm run cluster -- down removes all of it.`;
}

try {
  for (const folder of [clusterPaths.folder, clusterPaths.staticPods]) mkdirSync(folder, { recursive: true, mode: 0o755 });
  progress(`starting the control plane in ${clusterPaths.controlPlane}`);
  const options = { folder: clusterPaths.controlPlane, detached: true, progress } as const;
  // The kubelet only needs the API server; the controllers start concurrently with it.
  const starting = progressAfter('the API server is ready', ControlPlane.start({ ...options, controllerManager: false, scheduler: false }));
  // A failure is handled below, where the promise is awaited.
  starting.catch(() => {});
  const endpoint = await startContainerd();
  if (!isBuilt()) {
    progress('compiling the kubelet');
    build();
  }
  const controlPlane = await starting;
  await stopDaemon(kubelet);
  progress(`starting the kubelet, which joins as node ${clusterPaths.nodeName}`);
  const member = clusterMember(controlPlane, clusterPaths.nodeName, clusterPaths.kubeletPort);
  writeFileSync(clusterPaths.kubeletConfig, kubeletConfigText(member, endpoint));
  const args = ['--config', clusterPaths.kubeletConfig, '--kubeconfig', member.kubeconfig, '--root-dir', clusterPaths.kubeletRoot];
  startDaemon(kubelet, join(project, 'bin/kubelet'), [...args, '--hostname-override', clusterPaths.nodeName], clusterPaths.kubeletLog);
  await Promise.all([
    progressAfter('the scheduler and the controllers are ready', ControlPlane.start(options)),
    progressAfter(`node ${clusterPaths.nodeName} is Ready`, waitUntilNodeReady(controlPlane)),
  ]);
  console.log(usageText(controlPlane));
} catch (err) {
  console.error(`npm run cluster: ${err instanceof Error ? err.message : String(err)}`);
  console.error('Started processes keep running for inspection; npm run cluster -- down removes them');
  process.exitCode = 1;
}
process.exit();
