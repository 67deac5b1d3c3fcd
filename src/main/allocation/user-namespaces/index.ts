/**
 * User namespaces of pods (`hostUsers: false`): gives each pod a range of the host's IDs that no other pod has, keeps it in the file `userns` of
 * the pod's folder, and frees it when the pod has terminated. Admission gives a pod its range, and each sync asks for it; the sync's task passes it
 * to the runtime, which also maps the IDs of the pod's volumes. Upstream: pkg/kubelet/userns.
 */
export { openUserNamespaceProvider } from './provider.ts';
export { openUserNamespaces, type UserNamespacesOptions } from './open-user-namespaces.ts';
export type { UserNamespaceManager } from './user-namespace-manager.ts';
