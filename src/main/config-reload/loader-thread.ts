/**
 * The entry of the thread that reads the configuration for a reload, and ends with its answer (config-loader.ts). It runs main's own code for the
 * configuration, as the start does, and starts nothing else.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ConfigurationInputs } from '../config/configuration-inputs.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import { loadValidConfiguration } from '../config/load-valid-configuration.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';

export type LoaderReply = { readonly config: KubeletConfiguration } | { readonly error: string };

function load(inputs: ConfigurationInputs): LoaderReply {
  try {
    return { config: loadValidConfiguration(inputs, 'strict').config };
  } catch (err) {
    return { error: err instanceof ConfigurationError ? err.message : `unexpected: ${messageOf(err)}` };
  }
}

parentPort?.postMessage(load(workerData as ConfigurationInputs));
