/** Reads fields of an object from a list or a watch before the object is validated. The object may be any JSON. */
import { ApiError } from '../api-client.ts';

interface LooseMetadata {
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly uid?: unknown;
  readonly resourceVersion: string;
  readonly isInitialEventsEnd: boolean;
}

/** The annotation of the bookmark after the initial events of a watch. */
const initialEventsEnd = 'k8s.io/initial-events-end';

/** `resourceVersion` is empty if there is none. */
export function metadataOf(object: unknown): LooseMetadata {
  const metadata = field(object, 'metadata');
  const version = field(metadata, 'resourceVersion');
  return {
    name: field(metadata, 'name'),
    namespace: field(metadata, 'namespace'),
    uid: field(metadata, 'uid'),
    resourceVersion: typeof version === 'string' ? version : '',
    isInitialEventsEnd: field(field(metadata, 'annotations'), initialEventsEnd) === 'true',
  };
}

/** Converts the v1 Status of an ERROR event. */
export function errorOf(status: unknown): ApiError {
  const code = field(status, 'code');
  const text = (name: string, otherwise: string) => {
    const value = field(status, name);
    return typeof value === 'string' && value !== '' ? value : otherwise;
  };
  return new ApiError(
    typeof code === 'number' && Number.isInteger(code) ? code : 500,
    text('reason', 'Unknown'),
    text('message', 'the watch ended with an error that says nothing'),
  );
}

function field(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? (object as Record<string, unknown>)[name] : undefined;
}
