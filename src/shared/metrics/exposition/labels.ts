/** Labels of samples, rendered once for all samples that have them: as text, or as protobuf. */
import { escapeLabel } from './escape.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

export class LabelPair {
  readonly name: string;
  readonly value: string;
  #text: string | undefined;
  #bytes: Uint8Array | undefined;

  constructor(name: string, value: string) {
    this.name = name;
    this.value = value;
  }

  /** `name="value"` */
  get text(): string {
    return (this.#text ??= `${this.name}="${escapeLabel(this.value)}"`);
  }

  /** Field `label` of a `Metric`. */
  get bytes(): Uint8Array {
    return (this.#bytes ??= labelField(this.name, this.value));
  }
}

/** All labels of a sample, sorted by name, as Prometheus' client library writes them. */
export class Labels {
  readonly pairs: readonly LabelPair[];
  #text: string | undefined;
  #bytes: Uint8Array | undefined;

  constructor(pairs: readonly LabelPair[]) {
    this.pairs = pairs;
  }

  /** The pairs without braces. */
  get text(): string {
    return (this.#text ??= this.pairs.map(({ text }) => text).join(','));
  }

  get bytes(): Uint8Array {
    return (this.#bytes ??= Buffer.concat(this.pairs.map(({ bytes }) => bytes)));
  }
}

export const noLabels = new Labels([]);

/** @param values by name, in the order of the names */
export function labelsOf(values: Readonly<Record<string, string>>): Labels {
  return new Labels(Object.entries(values).map(([name, value]) => new LabelPair(name, value)));
}

/** Field numbers of client_model's metrics.proto: `name` is 1 and `value` is 2 of a LabelPair, which is field 1 of a Metric. */
function labelField(name: string, value: string): Uint8Array {
  const pair = new ProtobufWriter(64);
  pair.string(1, name);
  pair.string(2, value);
  const field = new ProtobufWriter(64);
  field.message(1, pair);
  return field.finish();
}
