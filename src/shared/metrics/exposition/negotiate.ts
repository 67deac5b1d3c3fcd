/**
 * Chooses a format of metrics by the header `Accept`. Pure. Upstream: Negotiate of prometheus/common v0.70, expfmt/encode.go, without protobuf's two text
 * forms, which are for people.
 */

/** `nativeProtobuf` is protobuf with native histograms. */
export const metricsFormats = ['text', 'protobuf', 'nativeProtobuf'] as const;
export type MetricsFormat = (typeof metricsFormats)[number];

export interface NegotiatedFormat {
  readonly encoding: 'text' | 'protobuf';
  readonly contentType: string;
}

interface AcceptedType {
  readonly type: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

const protobufType = 'application/vnd.google.protobuf';
const protobufMessage = 'io.prometheus.client.MetricFamily';
const text = 'text/plain; version=0.0.4; charset=utf-8';
/** The spellings that leave the names of a kubelet's metrics as they are. `dots` is not one of them. */
const escapings = ['allow-utf-8', 'underscores', 'values'];

export function negotiate(accept: string | undefined): NegotiatedFormat {
  let escaping = 'underscores';
  for (const { type, parameters } of parseAccept(accept ?? '')) {
    const wanted = parameters.get('escaping') ?? '';
    if (escapings.includes(wanted)) escaping = wanted;
    if (type === protobufType && parameters.get('proto') === protobufMessage && parameters.get('encoding') === 'delimited') {
      return { encoding: 'protobuf', contentType: `${protobufType}; proto=${protobufMessage}; encoding=delimited; escaping=${escaping}` };
    }
    if (type === 'text/plain' && ['0.0.4', ''].includes(parameters.get('version') ?? '')) break;
  }
  return { encoding: 'text', contentType: `${text}; escaping=${escaping}` };
}

/** Returns the accepted types, sorted by quality; among types of equal quality, those with a wildcard come last. Upstream: goautoneg's ParseAccept. */
function parseAccept(accept: string): AcceptedType[] {
  const types = accept.split(',').map((clause): AcceptedType => {
    const [type = '', ...rest] = clause.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map((part) => splitParameter(part)));
    const quality = Number(parameters.get('q') ?? 1);
    return { type, quality: Number.isNaN(quality) ? 0 : quality, parameters };
  });
  return types.sort((a, b) => b.quality - a.quality || Number(a.type.includes('*')) - Number(b.type.includes('*')));
}

function splitParameter(part: string): [string, string] {
  const equals = part.indexOf('=');
  return equals < 0 ? [part, ''] : [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
}
