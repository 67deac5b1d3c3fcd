/**
 * Reads fields of a certificate that Node's API lacks: each attribute of the subject, and the signature algorithm. Node's object
 * form (`getPeerCertificate`) crashes the process for a key whose curve has no NIST name (seen with Node 26.10).
 * Pure. Throws for bytes that are not a certificate, and for a subject that Go rejects.
 */
import { elements, type Element } from './read-der.ts';

export interface SubjectAttribute {
  /** Dotted OID. */
  readonly type: string;
  readonly value: string;
}

export interface CertificateFields {
  /** In the order of the certificate. */
  readonly subject: readonly SubjectAttribute[];
  /** Dotted OID. */
  readonly signatureAlgorithm: string;
  /** The DER after the OID. Empty when there are no parameters. */
  readonly signatureParameters: Buffer;
}

const tags = { objectIdentifier: 0x06, sequence: 0x30, set: 0x31, version: 0xa0 };
const stringTags = { utf8: 0x0c, numeric: 0x12, printable: 0x13, t61: 0x14, ia5: 0x16, bmp: 0x1e };

export function readCertificate(raw: Buffer): CertificateFields {
  const [certificate] = elements(raw);
  const [body, algorithm] = elements(contentOf(certificate, tags.sequence));
  const [id, parameters] = elements(contentOf(algorithm, tags.sequence));
  const fields = elements(contentOf(body, tags.sequence));
  // The fields are serialNumber, signature, issuer, validity and subject. From v2 on a version precedes them.
  const subject = fields[fields[0]?.tag === tags.version ? 5 : 4];
  return {
    subject: elements(contentOf(subject, tags.sequence)).flatMap((names) => elements(contentOf(names, tags.set)).map(attributeOf)),
    signatureAlgorithm: readOid(contentOf(id, tags.objectIdentifier)),
    signatureParameters: parameters?.content ?? Buffer.alloc(0),
  };
}

function attributeOf(pair: Element): SubjectAttribute {
  const [type, value] = elements(contentOf(pair, tags.sequence));
  return { type: readOid(contentOf(type, tags.objectIdentifier)), value: readString(value) };
}

/** Supports the string types that Go reads (crypto/x509 parseASN1String). Like Go, it reads T61String as Latin-1. */
function readString(value: Element | undefined): string {
  if (!value) throw new Error('this is not a certificate');
  switch (value.tag) {
    case stringTags.utf8:
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value.content);
    case stringTags.numeric:
    case stringTags.printable:
    case stringTags.ia5:
      if (value.content.some((byte) => byte >= 0x80)) throw new Error('a string of the subject is not ASCII');
      return value.content.toString('latin1');
    case stringTags.t61:
      return value.content.toString('latin1');
    case stringTags.bmp:
      if (value.content.length % 2 !== 0) throw new Error('a BMPString of the subject has an odd length');
      return Buffer.from(value.content).swap16().toString('utf16le');
    default:
      throw new Error(`a string of the subject has the type ${value.tag}`);
  }
}

function contentOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new Error('this is not a certificate');
  return element.content;
}

function readOid(content: Buffer): string {
  const arcs: bigint[] = [];
  let arc = 0n;
  for (const byte of content) {
    arc = (arc << 7n) | BigInt(byte & 0x7f);
    if (byte >= 0x80) continue;
    arcs.push(arc);
    arc = 0n;
  }
  // The first number holds the first two arcs: 40 · first + second, where first is at most 2.
  const [both = 0n, ...rest] = arcs;
  const first = both < 80n ? both / 40n : 2n;
  return [first, both - first * 40n, ...rest].join('.');
}
