/** What is started as a kubelet: this project's bundle, or another one that takes the same flags and the same configuration. */
import { join } from 'node:path';

/** Needs a finished build: see build.ts. */
export const kubeletPath: string = join(import.meta.dirname, '../../bin/kubelet');

/** Another kubelet. */
export interface KubeletProgram {
  readonly executable: string;
  /** Additional fields of KubeletConfiguration. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** The kubelet requires its cgroup root to exist. */
  readonly needsCgroupRoot: boolean;
}
