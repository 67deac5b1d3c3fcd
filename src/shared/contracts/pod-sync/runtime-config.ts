/** A task of the sync pool for the runtime's own configuration (CRI UpdateRuntimeConfig). */

export interface UpdateRuntimeConfigTask {
  /** The ranges of the node's pods, with commas between them. */
  readonly podCIDR: string;
}

export type UpdateRuntimeConfigResult =
  | { readonly result: 'updated' }
  /** The runtime does not have this call. */
  | { readonly result: 'unsupported' }
  | { readonly result: 'failed'; readonly message: string };
