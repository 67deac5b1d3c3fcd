/** `npm run cluster` after packages and modules are installed: starts control plane and containerd concurrently, then the kubelet. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { build, isBuilt } from '../../lab/kubelet/build.ts';
import { clusterMember, type ClusterMember } from '../../lab/control-plane/control-plane-member.ts';
import { ControlPlane } from '../../lab/control-plane/control-plane.ts';
import { busyboxImage, pauseImage } from '../../lab/containerd/local-images.ts';
import { containerdEndpoint } from '../../lab/containerd/containerd-config.ts';
import { PrivateContainerd, findRunningContainerd } from '../../lab/containerd/private-containerd.ts';
import { lateEvictions, nodeConfiguration } from '../../lab/kubelet/node-configuration.ts';
import { waitUntilNodeReady } from '../../lab/kubelet/node-ready.ts';
import { kubelet, clusterPaths } from './cluster-paths.ts';

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
  const { endpoint } = await PrivateContainerd.start({ folder: clusterPaths.containerd, network: '10.98', detached: true });
  progress('containerd is ready');
  return endpoint;
}

function configuration(member: ClusterMember, runtimeEndpoint: string): object {
  const { staticPods, cgroupRoot, healthzPort } = clusterPaths;
  return {
    ...nodeConfiguration({ runtimeEndpoint, manifests: staticPods, podLogs: kubelet.podLogs, cgroupRoot }),
    ...member.configuration,
    healthzPort,
    ...lateEvictions,
  };
}

/** The API server may still have the status of the previous kubelet. */
async function findObstacle(): Promise<string | null> {
  kubelet.assertRunning();
  return (await isHealthy()) ? null : `the kubelet does not answer on port ${clusterPaths.healthzPort}`;
}

async function isHealthy(): Promise<boolean> {
  try {
    const { ok } = await fetch(`http://127.0.0.1:${clusterPaths.healthzPort}/healthz`, { signal: AbortSignal.timeout(2000) });
    return ok;
  } catch {
    return false;
  }
}

async function waitUntilReady(controlPlane: ControlPlane): Promise<void> {
  const api = controlPlane.client();
  try {
    await waitUntilNodeReady(api, clusterPaths.nodeName, findObstacle);
  } catch (err) {
    throw new Error(`${err instanceof Error ? err.message : String(err)}; the kubelet's log is ${kubelet.logFile}`, { cause: err });
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
Static pods: ${clusterPaths.staticPods}. Logs: ${kubelet.logFile} and ${clusterPaths.controlPlane}/*.log
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
  await kubelet.stop();
  progress(`starting the kubelet, which joins as node ${clusterPaths.nodeName}`);
  const member = clusterMember(controlPlane, clusterPaths.nodeName, clusterPaths.kubeletPort);
  const { nodeName } = clusterPaths;
  kubelet.start({ nodeName, kubeconfig: member.kubeconfig, configuration: configuration(member, endpoint), writtenBy: 'npm run cluster' });
  await Promise.all([
    progressAfter('the scheduler and the controllers are ready', ControlPlane.start(options)),
    progressAfter(`node ${clusterPaths.nodeName} is Ready`, waitUntilReady(controlPlane)),
  ]);
  console.log(usageText(controlPlane));
} catch (err) {
  console.error(`npm run cluster: ${err instanceof Error ? err.message : String(err)}`);
  console.error('Started processes keep running for inspection; npm run cluster -- down removes them');
  process.exitCode = 1;
}
process.exit();
