/**
 * The programs of a control plane. KUBEBUILDER_ASSETS can name a folder with existing ones, as envtest installs them, which has only etcd,
 * kube-apiserver and kubectl.
 */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { ensurePrograms } from './cluster-programs.ts';

export const controlPlanePrograms = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'] as const;
export type ControlPlaneProgram = (typeof controlPlanePrograms)[number];

/** The path of each program. */
export type ControlPlaneBinaries = Readonly<Record<ControlPlaneProgram, string>>;

/** Returns each program from KUBEBUILDER_ASSETS, else from the cache, where missing ones are built: see ensurePrograms. */
export async function ensureControlPlane(progress: (what: string) => void): Promise<ControlPlaneBinaries> {
  const given = new Map(controlPlanePrograms.map((program) => [program, findInAssets(program)]));
  const others = controlPlanePrograms.filter((program) => given.get(program) === undefined);
  const built: Partial<ControlPlaneBinaries> = others.length > 0 ? await ensurePrograms(others, progress) : {};
  return Object.fromEntries(controlPlanePrograms.map((program) => [program, given.get(program) ?? built[program]])) as ControlPlaneBinaries;
}

function findInAssets(program: ControlPlaneProgram): string | undefined {
  const folder = process.env.KUBEBUILDER_ASSETS;
  if (!folder) return undefined;
  const path = join(folder, program);
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}
