/** Reads and parses the file of `--kubeconfig`. */
import { ConfigurationError } from '../../config/configuration-error.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { readBoundedFile } from '../../../shared/files/read-bounded-file.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import { parseKubeconfig } from './parse-kubeconfig.ts';

/** A kubeconfig with a hundred clusters has about 600 KiB. */
const maxKubeconfigBytes = 4 * 1024 * 1024;

/** Rejects with a ConfigurationError that names the file, and the line and field of each problem. */
export async function loadKubeconfig(path: string): Promise<Kubeconfig> {
  try {
    return parseKubeconfig((await readBoundedFile(path, maxKubeconfigBytes)).toString(), path);
  } catch (err) {
    throw new ConfigurationError(`kubeconfig ${goQuote(path)}: ${messageOf(err)}`);
  }
}
