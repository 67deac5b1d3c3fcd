/** What a test compares of the pods on the host of a control plane that kubeadm has made, before and after a change of the kubelet. */
import type { Guest } from '../../../scripts/host/guest/guest.ts';

/** Runs a command of kubectl. Returns what it prints. */
type Kubectl = (command: string) => Promise<string>;

export const staticPods = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((name) => `${name}-control`);

/** Returns the names of pods, one for each sandbox that containerd has made so far, in order. */
export async function startedSandboxes(guest: Guest): Promise<string[]> {
  const pattern = 's/.*RunPodSandbox for &PodSandboxMetadata{Name:\\([^,]*\\),.*returns sandbox id.*/\\1/p';
  return (await guest.check(`journalctl -q --no-pager -o cat -u containerd | sed -n '${pattern}'`)).split('\n');
}

/** Returns the UIDs of static pods by their names, of those that are ready. */
export async function readyStaticPods(kubectl: Kubectl): Promise<ReadonlyMap<string, string>> {
  const fields = '{.metadata.name} {.metadata.annotations.kubernetes\\.io/config\\.hash} {.status.conditions[?(@.type=="Ready")].status}';
  const pods = await rows(kubectl, '-n kube-system -l tier=control-plane', fields);
  return new Map(pods.flatMap(([name = '', uid = '', ready]) => (ready === 'True' ? [[name, uid] as const] : [])));
}

/** Returns the UIDs of all pods that the API server has given to nodes, with the IDs of their containers. */
export async function apiPods(kubectl: Kubectl): Promise<readonly (readonly string[])[]> {
  return rows(kubectl, "-A -l 'tier!=control-plane'", '{.metadata.uid} {.status.containerStatuses[*].containerID}');
}

async function rows(kubectl: Kubectl, selection: string, fields: string): Promise<string[][]> {
  const lines = await kubectl(`get pods ${selection} -o jsonpath='{range .items[*]}${fields}{"\\n"}{end}'`);
  return lines.split('\n').map((line) => line.split(' '));
}
