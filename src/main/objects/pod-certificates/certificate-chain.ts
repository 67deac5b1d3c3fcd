/** Reduces a signer's certificate chain to its PEM blocks, without headers and text between them (upstream cleanCertificateChain). Pure. */
import { pemBlock } from '../../../shared/x509/pem.ts';

const block = /-----BEGIN ([^\n-]+)-----\r?\n([^-]*)-----END \1-----/g;

/** Returns PEM in the signer's order: the leaf first. */
export function cleanCertificateChain(pem: string): string {
  return [...pem.matchAll(block)]
    .map(([, , lines = '']) => {
      // A line with a colon is a header.
      const content = lines.split('\n').filter((line) => !line.includes(':'));
      return pemBlock('CERTIFICATE', Buffer.from(content.join(''), 'base64').toString('base64'));
    })
    .join('');
}
