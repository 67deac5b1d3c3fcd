/** A task of the sync pool: parses, defaults and validates a manifest. A manifest may have 10 MB, too much for main's event loop. */
import type { Pod } from '../../kubernetes/api.ts';

export interface DecodeManifestTask {
  readonly source: 'file' | 'http';
  /** The path or URL: part of the pod UID, and of every error. */
  readonly origin: string;
  readonly nodeName: string;
  readonly content: Uint8Array;
}

export interface DecodeManifestResult {
  readonly pods: readonly Pod[];
  /** One line each, with the path of the field. A manifest with errors yields no pods, except for the valid pods of a list. */
  readonly errors: readonly string[];
  /** True: the manifest was parsed completely, so an empty list means no pods. */
  readonly readable: boolean;
}
