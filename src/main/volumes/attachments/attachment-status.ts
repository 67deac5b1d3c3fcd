/** Interprets the status of a VolumeAttachment (upstream verifyAttachmentStatus and WaitForAttach in pkg/volume/csi/csi_attacher.go). Pure. */
import { grpcCode } from '../../../shared/cri/cri-error.ts';
import type { ApiObject } from '../../api/index.ts';

export interface VolumeAttachment extends ApiObject {
  readonly status?: {
    readonly attached?: boolean;
    readonly attachmentMetadata?: Readonly<Record<string, string>> | null;
    readonly attachError?: { readonly message?: string; readonly errorCode?: number | null } | null;
  };
}

export type AttachmentStatus =
  | { readonly attached: true; readonly publishContext: Readonly<Record<string, string>> }
  | { readonly attached: false; readonly problem: string };

/** In characters. The API server admits objects of 1.5 MB, and the driver gets the metadata in two calls. */
const maxContext = 256 * 1024;

export function attachmentStatus({ metadata, status = {} }: VolumeAttachment, volumeHandle: string): AttachmentStatus {
  const publishContext = status.attachmentMetadata ?? {};
  if (JSON.stringify(publishContext).length > maxContext)
    return {
      attached: false,
      problem: `the attachmentMetadata of volume attachment ${metadata.name} has more than ${maxContext} characters`,
    };
  if (status.attached === true) return { attached: true, publishContext };
  const problem = attachError(status) ?? `volume ${volumeHandle} is not attached for volume attachment ${metadata.name}`;
  return { attached: false, problem };
}

/** Whether the node has no room for the volume (upstream isResourceExhaustError in csi_plugin.go). */
export function isExhausted(status: VolumeAttachment['status']): boolean {
  return status?.attachError?.errorCode === grpcCode.RESOURCE_EXHAUSTED;
}

/** The external attacher's error, or undefined. */
export function attachError(status: VolumeAttachment['status']): string | undefined {
  return status?.attachError ? (status.attachError.message ?? '') : undefined;
}
