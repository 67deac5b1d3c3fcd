/** Parses and validates the current context of a kubeconfig (upstream client-go/tools/clientcmd: decoding, validation, relative paths). */
import { dirname, resolve } from 'node:path';
import { ConfigurationError } from '../../config/configuration-error.ts';
import { parseConfigDocument } from '../../config/config-document.ts';
import { formatFieldPath, FieldPath, type FieldProblem } from '../../config/field-path.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { readCluster } from './read-cluster.ts';
import { FieldReader } from './field-reader.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import { readUser } from './read-user.ts';

/**
 * @param path the path of the kubeconfig; relative paths in the kubeconfig are relative to its folder
 * @throws ConfigurationError with every problem of the current context, each with its line and field, never with a value
 */
export function parseKubeconfig(content: string, path: string): Kubeconfig {
  const document = parseConfigDocument(content);
  const problems: FieldProblem[] = [];
  const warnings = [...document.duplicates, ...document.furtherDocuments];
  const kubeconfig = readKubeconfig(new FieldReader(document.value, new FieldPath(problems)), dirname(resolve(path)), warnings);
  if (problems.length > 0) {
    const described = problems.map((problem) => ({ line: document.lineOf(problem.path), text: describe(problem) }));
    throw new ConfigurationError(
      described
        .sort((a, b) => a.line - b.line)
        .map(({ line, text }) => `line ${line}: ${text}`)
        .join(', '),
    );
  }
  return kubeconfig;
}

function describe({ path, message }: FieldProblem): string {
  return path.length === 0 ? message : `${formatFieldPath(path)} ${message}`;
}

function readKubeconfig(root: FieldReader, folder: string, warnings: string[]): Kubeconfig {
  expectValue(root, 'apiVersion', 'v1');
  expectValue(root, 'kind', 'Config');
  const contextName = root.text('current-context');
  if (contextName === '') root.fieldPath.child('current-context').addProblem('is missing: it must name one of the contexts');
  const context = findEntry(root, 'contexts', 'context', contextName, 'current-context');
  const clusterName = context.text('cluster');
  if (clusterName === '') context.fieldPath.child('cluster').addProblem('is missing');
  const userName = context.text('user');
  const cluster = readCluster(findEntry(root, 'clusters', 'cluster', clusterName, 'cluster'), folder);
  // As in upstream's DirectClientConfig, a user that is missing has no credentials.
  const user = lookUp(root, 'users', 'user', userName);
  if (!user && userName !== '') warnings.push(`users has none with the name ${goQuote(userName)}: requests are anonymous`);
  return { cluster, user: readUser(user ?? noFields(), folder), namespace: context.text('namespace') || 'default', warnings };
}

function expectValue(root: FieldReader, name: string, expected: string): void {
  const actual = root.text(name);
  if (actual !== '' && actual !== expected) root.fieldPath.child(name).addProblem(`must be ${goQuote(expected)}`);
}

/**
 * Returns the fields of the list entry with this name. A missing entry is recorded as one problem; the empty fields returned instead record
 * no further ones.
 */
function findEntry(root: FieldReader, list: string, field: string, name: string, wantedBy: string): FieldReader {
  const found = lookUp(root, list, field, name);
  if (!found && name !== '')
    root.fieldPath.child(list).addProblem(`has none with the name ${goQuote(name)}, which the ${wantedBy} asks for`);
  return found ?? noFields();
}

/** Undefined: the list has no entry with this name. */
function lookUp(root: FieldReader, list: string, field: string, name: string): FieldReader | undefined {
  const entries = root.items(list).map(({ value, fieldPath: entryPath }) => new FieldReader(value, entryPath));
  const matches = entries.filter((entry) => entry.text('name') === name);
  for (const duplicate of matches.slice(1)) duplicate.fieldPath.child('name').addProblem(`is there twice: ${goQuote(name)}`);
  return matches[0]?.fields(field);
}

function noFields(): FieldReader {
  return new FieldReader({}, new FieldPath([]));
}
