/**
 * The message of an event about a volume whose files take long to get the pod's group, in upstream's words (pkg/volume/volume_linux.go). Pure.
 * @param folder the volume's path from the pod's UID on
 */
export function slowGroupMessage(folder: string, files: number | null): string {
  if (files !== null) return `Setting volume ownership for ${folder}, processed ${files} files.`;
  return `Setting volume ownership for ${folder} is taking longer than expected, consider using OnRootMismatch - ${documentation}`;
}

const documentation =
  'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';
