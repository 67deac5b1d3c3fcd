/** `npm run cluster`, once packages and modules are there: control plane and containerd side by side, then the kubelet that joins. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build, isBuilt } from '../build.ts';
import type { ApiClient } from '../host/control-plane-api.ts';
import { clusterMember } from '../host/control-plane-member.ts';
import { ControlPlane } from '../host/control-plane.ts';
import { busyboxImage, pauseImage } from '../host/local-images.ts';
import { endpointOf, PrivateContainerd, runningContainerd } from '../host/private-containerd.ts';
import { runningPid, startDaemon, stopDaemon } from '../up/processes.ts';
import { kubeletConfigText } from './kubelet-config.ts';
import { kubelet, place, project } from './cluster-paths.ts';

/** A kubelet is Ready some seconds after its start; one that is not by then says why. */
const readyDeadlineMs = 60_000;

interface Node {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] };
}

const startedMs = performance.now();

/** With the seconds since the start: what took long can be seen. */
function say(what: string): void {
  console.log(`==> ${((performance.now() - startedMs) / 1000).toFixed(1).padStart(4)} s  ${what}`);
}

/** Says when it is done. */
async function told<T>(what: string, step: Promise<T>): Promise<T> {
  const result = await step;
  say(what);
  return result;
}

async function startContainerd(): Promise<string> {
  if (runningContainerd(place.containerd) !== undefined) {
    say('the private containerd runs already');
    return endpointOf(place.containerd);
  }
  say(`starting a private containerd in ${place.containerd}, with the example images`);
  const imageCache = join(project, '.cache/images');
  const { endpoint } = await PrivateContainerd.start({ folder: place.containerd, network: '10.98', imageCache, detached: true });
  say('containerd is ready');
  return endpoint;
}

/** Null when the node is Ready; else what it, or its absence, says. */
async function whyNotReady(api: ApiClient): Promise<string | null> {
  if (runningPid(kubelet) === undefined) {
    const log = readFileSync(place.kubeletLog, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
    throw new Error(`the kubelet has ended; the end of ${place.kubeletLog}:\n${log}`);
  }
  // The API server may still say what the kubelet before this one told it.
  if (!(await isHealthy())) return `the kubelet does not answer on port ${place.healthzPort}`;
  const node = await api.find<Node>(`/api/v1/nodes/${place.nodeName}`);
  if (node === undefined) return `the API server knows no node ${place.nodeName}`;
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined) return 'it has reported no status';
  return ready.status === 'True' ? null : `Ready is ${ready.status}: ${ready.message ?? ''}`;
}

async function isHealthy(): Promise<boolean> {
  try {
    const { ok } = await fetch(`http://127.0.0.1:${place.healthzPort}/healthz`, { signal: AbortSignal.timeout(2000) });
    return ok;
  } catch {
    return false;
  }
}

async function nodeReady(controlPlane: ControlPlane): Promise<void> {
  const api = controlPlane.client();
  const endMs = performance.now() + readyDeadlineMs;
  try {
    for (;;) {
      const reason = await whyNotReady(api);
      if (reason === null) return;
      if (performance.now() > endMs) {
        throw new Error(
          `node ${place.nodeName} is not Ready after ${readyDeadlineMs / 1000} s (${reason}); the kubelet's log is ${place.kubeletLog}`,
        );
      }
      await sleep(100);
    }
  } finally {
    await api.close();
  }
}

function whatToTry(controlPlane: ControlPlane): string {
  const bin = dirname(relative(process.cwd(), controlPlane.kubectl)) || '.';
  return `
kubeconfig: ${controlPlane.adminKubeconfig}
To try:
  export KUBECONFIG=${controlPlane.adminKubeconfig} PATH=$PWD/${bin}:$PATH
  kubectl get nodes,pods -A
  kubectl apply -f examples/web.yaml -f examples/sidecar.yaml
  kubectl logs -f sidecar -c log-reader
  kubectl attach sidecar -c log-reader
  kubectl exec -it web -c httpd -- sh
  kubectl cp README.md web:/tmp/ -c httpd
  kubectl port-forward web 8080
  kubectl debug -it web --image ${busyboxImage} --target httpd -- sh
  kubectl create deployment busy --image ${busyboxImage} --replicas 3 -- sleep 1000
  kubectl describe node ${place.nodeName}
  kubectl delete pod web sidecar
Images without a registry: ${busyboxImage} and ${pauseImage}
Static pods: ${place.staticPods}. Logs: ${place.kubeletLog} and ${place.controlPlane}/*.log
npm run cluster -- down removes all of it.`;
}

try {
  for (const folder of [place.folder, place.staticPods]) mkdirSync(folder, { recursive: true, mode: 0o755 });
  say(`starting the control plane in ${place.controlPlane}`);
  const options = { folder: place.controlPlane, detached: true, say } as const;
  // A kubelet needs the API server; the controllers come beside it.
  const starting = told('the API server is ready', ControlPlane.start({ ...options, controllerManager: false, scheduler: false }));
  // Meanwhile; should it fail, that is said below, when it is waited for.
  starting.catch(() => {});
  const endpoint = await startContainerd();
  if (!isBuilt()) {
    say('compiling the kubelet');
    build();
  }
  const controlPlane = await starting;
  await stopDaemon(kubelet);
  say(`starting the kubelet, which joins as node ${place.nodeName}`);
  const member = clusterMember(controlPlane, place.nodeName, place.kubeletPort);
  writeFileSync(place.kubeletConfig, kubeletConfigText(member, endpoint));
  const args = ['--config', place.kubeletConfig, '--kubeconfig', member.kubeconfig, '--root-dir', place.kubeletRoot];
  startDaemon(kubelet, join(project, 'bin/kubelet'), [...args, '--hostname-override', place.nodeName], place.kubeletLog);
  await Promise.all([
    told('the scheduler and the controllers are ready', ControlPlane.start(options)),
    told(`node ${place.nodeName} is Ready`, nodeReady(controlPlane)),
  ]);
  console.log(whatToTry(controlPlane));
} catch (err) {
  console.error(`npm run cluster: ${err instanceof Error ? err.message : String(err)}`);
  console.error('What was started goes on, to be looked at; npm run cluster -- down removes it');
  process.exitCode = 1;
}
process.exit();
