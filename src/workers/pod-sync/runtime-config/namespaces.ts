/** Computes which namespaces a pod shares with the node, and its containers with each other (upstream pkg/kubelet/kuberuntime/util). */
import { type NamespaceOption, NamespaceMode, type UserNamespace } from '../../../shared/cri/generated/cri-v1.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';

/** Throws an Error when the pod requires a user namespace but has no mappings: it must never run with the host's users. */
export function namespaceOptions({ spec }: Pod, userNamespace: UserNamespace | undefined): NamespaceOption {
  if (spec.hostUsers === false && !userNamespace) {
    throw new Error('the pod asks for a user namespace (hostUsers: false), and this node has no mappings for it');
  }
  return {
    network: spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: spec.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: pidNamespace(spec),
    targetId: '',
    usernsOptions: userNamespace,
  };
}

function pidNamespace({ hostPID, shareProcessNamespace }: Pod['spec']): NamespaceMode {
  if (hostPID) return NamespaceMode.NODE;
  return shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}
