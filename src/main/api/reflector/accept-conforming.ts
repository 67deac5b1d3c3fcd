/** Validates objects from the API server against their schema, so that one malformed object affects no other object. */
import { conform } from '../../../shared/kubernetes/schema/conform.ts';
import type { Schema } from '../../../shared/kubernetes/schema/types.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { containedFaults } from '../../../shared/metrics/definitions/faults.ts';
import type { ApiObject } from './object-store.ts';

/** Returns an `accept` function for a reflector. That function returns the typed object, or logs and returns null for a wrong type. */
export function acceptConforming<T extends ApiObject>(schema: Schema, logger: Logger): (object: T) => T | null {
  return (object) => {
    const { value, problem } = conform(schema, object);
    if (problem === null) return value as T;
    const { name, namespace, uid } = object.metadata;
    containedFaults.inc({ handler: 'reflector' });
    logger.error({ name, namespace, uid, err: problem }, 'Object of the API server ignored');
    return null;
  };
}
