/** Formats a pod's name for messages (upstream pkg/kubelet/util/format). */

/** Returns `<name>_<namespace>(<uid>)`. */
export function formatPod({ name, namespace, uid }: { readonly name: string; readonly namespace: string; readonly uid: string }): string {
  return `${name}_${namespace}(${uid})`;
}
