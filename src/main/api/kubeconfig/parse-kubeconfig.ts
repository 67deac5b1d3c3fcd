/** A kubeconfig's text as the current context means it (upstream client-go/tools/clientcmd: decoding, validation, relative paths). */
import { dirname, resolve } from 'node:path';
import { ConfigurationError } from '../../config/configuration-error.ts';
import { parseConfigDocument } from '../../config/config-document.ts';
import { formatPath, Place, type Problem } from '../../config/field-path.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { readCluster } from './read-cluster.ts';
import { Fields } from './field-reader.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import { readUser } from './read-user.ts';

/**
 * @param path the file's, which relative paths in it are relative to
 * @throws ConfigurationError with every problem of the current context, each with its line and field, never with a value
 */
export function parseKubeconfig(content: string, path: string): Kubeconfig {
  const document = parseConfigDocument(content);
  const problems: Problem[] = [];
  const kubeconfig = read(new Fields(document.value, new Place(problems)), dirname(resolve(path)));
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

function describe({ path, message }: Problem): string {
  return path.length === 0 ? message : `${formatPath(path)} ${message}`;
}

function read(root: Fields, folder: string): Kubeconfig {
  expectEach(root, 'apiVersion', 'v1');
  expectEach(root, 'kind', 'Config');
  const contextName = root.text('current-context');
  if (contextName === '') root.at.child('current-context').problem('is missing: it must name one of the contexts');
  const context = named(root, 'contexts', 'context', contextName, 'current-context');
  const clusterName = context.text('cluster');
  if (clusterName === '') context.at.child('cluster').problem('is missing');
  const userName = context.text('user');
  const cluster = readCluster(named(root, 'clusters', 'cluster', clusterName, 'cluster'), folder);
  const user = readUser(named(root, 'users', 'user', userName, 'user'), folder);
  return { cluster, user, namespace: context.text('namespace') || 'default' };
}

function expectEach(root: Fields, name: string, wanted: string): void {
  const given = root.text(name);
  if (given !== '' && given !== wanted) root.at.child(name).problem(`must be ${goQuote(wanted)}`);
}

/** The fields of the entry with this name. Without one that is the problem noted, and what the empty fields lack is nobody's. */
function named(root: Fields, list: string, field: string, name: string, wantedBy: string): Fields {
  const entries = root.items(list).map(({ value, at }) => new Fields(value, at));
  const found = entries.filter((entry) => entry.text('name') === name);
  for (const again of found.slice(1)) again.at.child('name').problem(`is there twice: ${goQuote(name)}`);
  if (found[0]) return found[0].fields(field);
  if (name !== '') root.at.child(list).problem(`has none with the name ${goQuote(name)}, which the ${wantedBy} asks for`);
  return new Fields({}, new Place([]));
}
