/** `.env` and `deskmirror.yaml` with one more project; what is there stays, comments too. Pure. */
import type { ProjectId } from '../values/project.ts'
import { type EnvAssignment, parseEnvFile } from './env-file.ts'
import { ConfigurationError } from './problems.ts'
import { loadYaml } from './yaml-file.ts'

/** What a project needs at least. `key`: the key itself, or the path of a file that holds it. */
export type NewProject = {
  readonly name: string
  readonly baseUrl: string
  readonly projectId: ProjectId
  readonly key: { readonly value: string } | { readonly file: string }
}

/** Whether a text of `.env` describes a project. Throws ConfigurationError if it cannot be read. */
export function isConfigured(text: string): boolean {
  return requireAssignments(text).some(({ name }) =>
    /^DESKMIRROR_(BASE_URL|PROJECT_ID|API_KEY|API_KEY_FILE)$/.test(name),
  )
}

function requireAssignments(text: string): readonly EnvAssignment[] {
  const { assignments, problems } = parseEnvFile(text)
  if (problems.length > 0) throw new ConfigurationError(problems)
  return assignments
}

export function addToEnv(text: string, { baseUrl, projectId, key }: NewProject): string {
  return appendLines(text, [
    `DESKMIRROR_BASE_URL=${quoted(baseUrl)}`,
    `DESKMIRROR_PROJECT_ID=${quoted(projectId)}`,
    'file' in key
      ? `DESKMIRROR_API_KEY_FILE=${quoted(key.file)}`
      : `DESKMIRROR_API_KEY=${quoted(key.value)}`,
  ])
}

/** The variable that holds the key of a project in `deskmirror.yaml`. */
const keyVariable = (name: string): string =>
  `${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_API_KEY`

/**
 * `.env` has the key, under `keyVariable`. Null: there is a project of that id, or of a name with
 * the same variable.
 */
export function addToYaml(
  text: string,
  { name, baseUrl, projectId, key }: NewProject,
): string | null {
  const known: unknown = loadYaml().parse(text)?.projects
  const others = typeof known === 'object' && known !== null ? Object.entries(known) : []
  const isKnown = ([other, settings]: [string, unknown]) =>
    keyVariable(other) === keyVariable(name) || Object(settings).project_id === projectId
  if (others.some(isKnown)) return null
  const document = loadYaml().parseDocument(text)
  const reference = 'file' in key ? { file: key.file } : { env: keyVariable(name) }
  document.setIn(
    ['projects', name],
    document.createNode({ base_url: baseUrl, project_id: projectId, api_key: reference }),
  )
  return document.toString({ lineWidth: 120 })
}

/** For a project in `deskmirror.yaml`. Throws ConfigurationError if `.env` cannot be read. */
export function addKeyToEnv(text: string, name: string, key: string): string {
  const variable = keyVariable(name)
  const earlier = requireAssignments(text).filter((assignment) => assignment.name === variable)
  const kept = earlier.reduceRight(
    (rest, { from, to }) => `${rest.slice(0, from)}${rest.slice(to)}`,
    text,
  )
  return appendLines(kept, [`${variable}=${quoted(key)}`])
}

/** In `.env` a `#` begins a comment, and a line break ends a value, unless it is quoted. */
function quoted(value: string): string {
  if (/^[\w.:/@%+,~=-]*$/.test(value)) return value
  const quote = ["'", '`', '"'].find((it) => !value.includes(it)) ?? "'"
  return `${quote}${value}${quote}`
}

function appendLines(text: string, lines: readonly string[]): string {
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines.join('\n')}\n`
}
