/** The error codes of HTTP/2 (RFC 9113, section 7), as Go prints them. */
const names = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const;

export type Http2ErrorName = (typeof names)[number];

export function http2ErrorName(code: number): Http2ErrorName | `unknown error code 0x${string}` {
  return names[code] ?? `unknown error code 0x${code.toString(16)}`;
}
