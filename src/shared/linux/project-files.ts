/**
 * Reads and edits the content of /etc/projects (`1048577:/a/directory`) and /etc/projid (`volume1048577:1048577`), in which upstream and the tools of XFS find the
 * quota projects of directories (upstream pkg/volume/util/fsquota/project.go). Lines that others wrote stay as they are. Pure.
 */

export interface ProjectFiles {
  readonly projects: string;
  readonly projid: string;
}

/** Upstream's FirstQuota. */
const firstProject = 1_048_577;
/** Upstream's maxUnusedQuotasToSearch: the search fails after this number of IDs that neither file names, but whose project has files. */
const maxUnnamed = 128;

interface Line {
  readonly text: string;
  /** Undefined: a comment, or another kind of line. */
  readonly id?: number;
  /** The directory, or the project's name. */
  readonly value?: string;
}

function linesOf(content: string, parse: (text: string) => Line): Line[] {
  const lines = content.split('\n').map(parse);
  return lines.at(-1)?.text === '' ? lines.slice(0, -1) : lines;
}

function parseProject(text: string): Line {
  const [, id, value] = /^(\d+):(.*)$/.exec(text) ?? [];
  return id === undefined ? { text } : { text, id: Number(id), value: value! };
}

function parseProjid(text: string): Line {
  const [, value, id] = /^([^#][^:]*):(\d+)$/.exec(text) ?? [];
  return id === undefined ? { text } : { text, id: Number(id), value: value! };
}

const toContent = (lines: readonly Line[]) => lines.map(({ text }) => `${text}\n`).join('');
const nameOf = (id: number) => `volume${id}`;

/** The project of each directory. */
export function projectsByDirectory(projects: string): Map<string, number> {
  // The first line of a directory counts.
  return new Map(
    linesOf(projects, parseProject)
      .flatMap(({ id, value }): [string, number][] => (id ? [[value!, id]] : []))
      .toReversed(),
  );
}

/**
 * Gives a directory a project of its own. A directory that has a project keeps it.
 * @param hasFiles whether a project that no line names has files
 */
export function addDirectory(
  files: ProjectFiles,
  directory: string,
  hasFiles: (id: number) => boolean,
): { readonly id: number; readonly files: ProjectFiles } {
  const projects = linesOf(files.projects, parseProject);
  const projid = linesOf(files.projid, parseProjid);
  const known = projects.find(({ id, value }) => id !== undefined && value === directory)?.id;
  if (known !== undefined) return { id: known, files };
  const id = chooseProject(new Set([...projects, ...projid].map((line) => line.id)), hasFiles);
  return {
    id,
    files: {
      projects: toContent([...projects, { text: `${id}:${directory}` }]),
      projid: toContent([...projid, { text: `${nameOf(id)}:${id}` }]),
    },
  };
}

function chooseProject(named: ReadonlySet<number | undefined>, hasFiles: (id: number) => boolean): number {
  let unnamed = 0;
  for (let id = firstProject; unnamed < maxUnnamed; id += 1) {
    if (named.has(id)) continue;
    if (!hasFiles(id)) return id;
    unnamed += 1;
  }
  throw new Error('cannot find available quota ID');
}

/** Removes the directories below the folder, and the names of projects that then have no directory. */
export function removeDirectoriesBelow(files: ProjectFiles, folder: string): ProjectFiles {
  const isBelow = ({ value }: Line) => value?.startsWith(`${folder}/`) === true;
  const projects = linesOf(files.projects, parseProject);
  const removed = new Set(projects.filter(isBelow).map(({ id }) => id));
  if (removed.size === 0) return files;
  const kept = projects.filter((line) => !isBelow(line));
  for (const { id } of kept) removed.delete(id);
  const isNamed = ({ id, value }: Line) => id === undefined || !removed.has(id) || value !== nameOf(id);
  return { projects: toContent(kept), projid: toContent(linesOf(files.projid, parseProjid).filter(isNamed)) };
}
