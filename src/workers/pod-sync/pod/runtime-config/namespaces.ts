/** Computes which namespaces a pod shares with the node, and its containers with each other (upstream pkg/kubelet/kuberuntime/util). */
import { type NamespaceOption, NamespaceMode, type UserNamespace } from '../../../../shared/cri/generated/cri-v1.ts';
import type { UserNamespaceChoice } from '../../../../shared/contracts/pod-sync/allocation.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';

/** Throws an Error when the pod requires a user namespace but has none: it must never run with the host's users. */
export function namespaceOptions({ spec }: Pod, userNamespace: UserNamespaceChoice | undefined): NamespaceOption {
  return {
    network: spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: spec.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: pidNamespace(spec),
    targetId: '',
    usernsOptions: userNamespaceOptions(spec, userNamespace),
  };
}

function userNamespaceOptions({ hostUsers }: Pod['spec'], choice: UserNamespaceChoice | undefined): UserNamespace {
  if (hostUsers !== false) return { mode: NamespaceMode.NODE, uids: [], gids: [] };
  if (!choice) throw new Error('the pod asks for a user namespace (hostUsers: false), and this node has no mappings for it');
  if ('problem' in choice) throw new Error(choice.problem);
  const mappings = [{ hostId: choice.hostID, containerId: 0, length: choice.length }];
  return { mode: NamespaceMode.POD, uids: mappings, gids: mappings };
}

function pidNamespace({ hostPID, shareProcessNamespace }: Pod['spec']): NamespaceMode {
  if (hostPID) return NamespaceMode.NODE;
  return shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}
