/** What a test compares of the pods on the host of a control plane that kubeadm has made, before and after a change of the kubelet. */
import type { Guest } from '../../../lab/guest/guest.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';

/** Runs a command of kubectl. Returns what it prints. */
type Kubectl = (command: string) => Promise<string>;

export const staticPods = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((name) => `${name}-control`);

/** Returns the names of pods, one for each sandbox that containerd has made so far, in order. */
export async function startedSandboxes(guest: Guest): Promise<string[]> {
  const pattern = 's/.*RunPodSandbox for &PodSandboxMetadata{Name:\\([^,]*\\),.*returns sandbox id.*/\\1/p';
  return (await guest.check(`journalctl -q --no-pager -o cat -u containerd | sed -n '${pattern}'`)).split('\n');
}

export interface StaticPod {
  readonly name: string;
  /** Of the manifest; the mirror pod has another one. */
  readonly uid: string | undefined;
  readonly isReady: boolean;
}

/** Returns the static pods that have mirror pods in the API server, sorted by name. */
export async function staticPodsOf(kubectl: Kubectl): Promise<readonly StaticPod[]> {
  const pods = await podsOf(kubectl, '-n kube-system -l tier=control-plane');
  return pods.map(({ metadata, status }) => ({
    name: metadata.name,
    uid: metadata.annotations?.['kubernetes.io/config.hash'],
    isReady: status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false,
  }));
}

/** Returns the UIDs of all pods that the API server has given to nodes, with the IDs of their containers. */
export async function apiPods(kubectl: Kubectl): Promise<readonly (readonly (string | undefined)[])[]> {
  const pods = await podsOf(kubectl, "-A -l 'tier!=control-plane'");
  return pods.map(({ metadata, status }) => [metadata.uid, ...(status?.containerStatuses ?? []).map(({ containerID }) => containerID)]);
}

async function podsOf(kubectl: Kubectl, selection: string): Promise<readonly Pod[]> {
  const { items } = JSON.parse(await kubectl(`get pods ${selection} --sort-by=metadata.name -o json`)) as { items: readonly Pod[] };
  return items;
}
