/** hostPath: a path of the host (upstream pkg/volume/hostpath). The kubelet checks its type; it sets up and removes nothing. */
import type { VolumeSource } from '../../../../../shared/kubernetes/volume-kind.ts';
import type { VolumeContext } from '../volume-context.ts';
import type { VolumePlugin } from './volume-plugin.ts';

export const hostPath: VolumePlugin<VolumeSource<'hostPath'>> = {
  holdsFiles: false,
  isMount: () => false,
  mount: checkPath,
  path: (_, { path }) => path,
  // The files keep their SELinux labels.
  containerMount: async ({ bindSubPath }, { path }) => ({
    hostPath: await bindSubPath(path, { create: true }),
    readonly: false,
    selinuxRelabel: false,
  }),
  teardown: null,
};

/** Without a type, nothing is checked: the runtime reports a missing path. */
async function checkPath({ helper, signal }: VolumeContext, _: string, { path, type }: VolumeSource<'hostPath'>): Promise<boolean> {
  if (path.split('/').includes('..')) throw new Error(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (!type) return true;
  const { failure } = await helper.call('checkHostPath', { path, type }, { signal });
  if (failure !== null) throw new Error(failure);
  return true;
}
