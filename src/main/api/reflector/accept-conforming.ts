/** For reflectors: of objects that others write, those that have other types than the API's must cost nobody but themselves. */
import { conform } from '../../../shared/kubernetes/schema/conform.ts';
import type { Schema } from '../../../shared/kubernetes/schema/types.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { containedFaults } from '../../../shared/metrics/definitions/faults.ts';
import type { ApiObject } from './object-store.ts';

/** What a reflector is to `accept`: the object as its type says; null, with a log line, when it has other types. */
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
