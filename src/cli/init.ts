/** `deskmirror init`: asks for what a project needs, tests it, and writes it down. */
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Option } from 'commander'
import type { CheckItem } from '../app/check.ts'
import {
  addKeyToEnv,
  addToEnv,
  addToYaml,
  isConfigured,
  type NewProject,
} from '../config/add-project.ts'
import { type Config, defaultConfig, defaultProject } from '../config/config.ts'
import { readTextFile } from '../config/text-file.ts'
import { keptFiles, rejectKept } from '../export/kept-files.ts'
import { projectIdProblem } from '../service/core/path-segment.ts'
import type { ProjectId } from '../values/project.ts'
import { secret } from '../values/secret.ts'
import { parseBaseUrl } from '../values/server-address.ts'
import { UserError } from '../values/user-error.ts'
import { replaceFile } from '../warehouse/replace-file.ts'
import { renderChecks, toExitCode } from './check.ts'
import { defineCommand } from './command.ts'
import type { CommandContext } from './command-context.ts'
import { worstExitCode } from './explain-error.ts'

type Options = {
  readonly baseUrl?: string
  readonly projectId?: ProjectId
  readonly apiKeyFile?: string
  readonly name?: string
}

const help = `
Asks for the address of the API, the project's id and its key; tests them as deskmirror check does; then writes them into
.env, which only you may read, or adds a project to deskmirror.yaml if there is one. Without a terminal it takes the
options and asks nothing.

Examples:
  $ deskmirror init
  $ deskmirror init --base-url https://api.example.com/v1 --project-id 7d1f4f6e-… --api-key-file /run/secrets/key

Exit code: 0 done · 1 failed, trying again may help · 2 a person must change something`

export const command = defineCommand<Options>({
  name: 'init',
  description: 'Connects a project: asks for the three settings, tests them, and writes them down.',
  options: [
    new Option('--base-url <url>', 'the address of the API, with its version'),
    new Option('--project-id <id>', "the project's id"),
    new Option('--api-key-file <path>', 'a file that holds the key'),
    new Option('--name <name>', "the project's name in deskmirror.yaml"),
  ],
  help,
  run: async (context, options) => {
    const isTerminal = process.stdin.isTTY === true && process.stderr.isTTY === true
    const hasYaml = existsSync(yamlFile)
    if (!hasYaml && isConfigured(readIfThere(envFile))) {
      const next = 'edit .env, or describe several projects in deskmirror.yaml (docs/guide.md)'
      throw alreadyThere('.env describes a project already', next)
    }
    const project = await collect(options, isTerminal, hasYaml)
    rejectWriting(context, options, hasYaml)
    const files = textsWith(project, hasYaml)
    const items = await testProject(context, project)
    const checks = renderChecks(
      [{ project: null, items, exit: worstExitCode(items.map(toExitCode)) }],
      [],
    )
    if (checks.exit === 1 || checks.exit === 2) {
      const why = 'Nothing was written: correct what is wrong, and run `deskmirror init` again.'
      return { ...checks, lines: [...checks.lines, '', why] }
    }
    rejectWriting(context, options, hasYaml)
    for (const [name, text] of Object.entries(files)) replaceFile(name, text)
    const written = `Written to ${Object.keys(files).join(' and ')}, which only you may read.`
    return { ...checks, lines: [...checks.lines, '', written, ...nextSteps], exit: 0 }
  },
})

const envFile = '.env'
const yamlFile = 'deskmirror.yaml'

const nextSteps = [
  '',
  'Next:',
  '  deskmirror sync       copies everything into deskmirror.db',
  '  deskmirror console    shows it in a browser',
  '  deskmirror start      keeps it current',
  'Optional: approval, private columns, history, notifications, hours (docs/reference/settings.md).',
]

async function collect(
  options: Options,
  isTerminal: boolean,
  hasYaml: boolean,
): Promise<NewProject> {
  const { baseUrl, projectId, apiKeyFile, name } = options
  const needed = { '--base-url': baseUrl, '--project-id': projectId, '--api-key-file': apiKeyFile }
  const missing = Object.entries(hasYaml ? { ...needed, '--name': name } : needed)
    .filter(([, value]) => value === undefined)
    .map(([option]) => option)
  if (missing.length > 0 && !isTerminal) {
    const next = `add ${missing.join(' and ')}, or run it on a terminal, where it asks`
    throw wrongOption('something is missing, and nobody can be asked', next)
  }
  const prompt = missing.length > 0 ? openPrompt() : null
  const answerOf = async (given: string | undefined, question: Question) => {
    const problem = given === undefined ? null : question.problemOf(given)
    if (problem !== null) throw wrongOption(problem)
    return given ?? (await prompt?.ask(question)) ?? ''
  }
  try {
    return {
      name: hasYaml ? await answerOf(name, questions.name) : 'default',
      baseUrl: await answerOf(baseUrl, questions.baseUrl),
      projectId: await answerOf(projectId, questions.projectId),
      key:
        apiKeyFile === undefined
          ? { value: await answerOf(undefined, questions.key) }
          : { file: apiKeyFile },
    }
  } finally {
    prompt?.close()
  }
}

const questions: Readonly<Record<'name' | 'baseUrl' | 'projectId' | 'key', Question>> = {
  name: {
    text: 'A name for the project (letters, digits, dashes)',
    problemOf: (answer) =>
      /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(answer)
        ? null
        : 'use letters, digits, dots and dashes',
  },
  baseUrl: {
    text: 'The address of the API, with its version (https://…)',
    problemOf: (answer) => {
      const parsed = parseBaseUrl(answer)
      return parsed.ok ? null : `the address ${parsed.why}`
    },
  },
  projectId: { text: "The project's id (a UUID)", problemOf: projectIdProblem },
  key: {
    text: 'The API key (Settings > API keys; it is not shown here)',
    isSecret: true,
    problemOf: (answer) =>
      /^[\x21-\x7e]+$/.test(answer) ? null : 'a key is one line without spaces',
  },
}

const wrongOption = (why: string, next = '`deskmirror init --help` has examples') =>
  new UserError({ what: 'cannot connect the project', why, next })
const alreadyThere = (why: string, next: string) =>
  new UserError({ what: 'nothing was changed', why, next })

/** The new texts of the files, by name. */
function textsWith(project: NewProject, hasYaml: boolean): Readonly<Record<string, string>> {
  const env = readIfThere(envFile)
  if (!hasYaml) return { [envFile]: addToEnv(env, project) }
  const yaml = addToYaml(readIfThere(yamlFile), project)
  const why = `${yamlFile} has a project of this name or id already`
  if (yaml === null) throw alreadyThere(why, 'edit the file, or use another name')
  const { name, key } = project
  return {
    [yamlFile]: yaml,
    ...('file' in key ? {} : { [envFile]: addKeyToEnv(env, name, key.value) }),
  }
}

/** The same checks as those of `check`. */
async function testProject(
  context: CommandContext,
  project: NewProject,
): Promise<readonly CheckItem[]> {
  const parsed = parseBaseUrl(project.baseUrl)
  if (!parsed.ok) throw wrongOption(`the address ${parsed.why}`)
  const key = 'file' in project.key ? readKey(project.key.file) : project.key.value
  const { name, projectId } = project
  const proxy = context.proxyOfEnvironment()
  const tested = defaultProject({
    name,
    projectId,
    baseUrl: parsed.url,
    apiKey: secret(key),
    proxy,
  })
  const config: Config = defaultConfig({ projects: [tested] })
  const display = context.openDisplay(true)
  const signal = context.openInterruptSignal(display, 'the current request')
  const { checkProject } = await context.load(() => import('../app/check.ts'))
  return checkProject(config, tested, { signal, log: await context.openLog(config, display) })
}

function readKey(path: string): string {
  const text = readText(path)
  if (text === null) throw wrongOption(`there is no file ${path}`)
  return text.trim()
}

function readIfThere(path: string): string {
  return readText(path) ?? ''
}

function readText(path: string): string | null {
  const text = readTextFile(path)
  if (text instanceof Error)
    throw wrongOption(`${path} cannot be read: ${text.message}`, 'name another file, or correct it')
  return text
}

/** Throws UserError if a file to write is the warehouse, or that of the key, by a link. */
function rejectWriting(
  context: CommandContext,
  { apiKeyFile: path }: Options,
  hasYaml: boolean,
): void {
  const { databaseUrl } = context.describeConfiguration()
  const key = path === undefined ? [] : [{ path, why: 'it is the file of the key' }]
  const kept = keptFiles({ databaseUrl, files: [] }, key)
  for (const file of hasYaml ? [envFile, yamlFile] : [envFile]) rejectKept(file, kept)
}

/** Asks a person on a terminal. What is secret is not shown while it is typed. */
type Question = {
  readonly text: string
  readonly isSecret?: true
  readonly problemOf: (answer: string) => string | null
}

function openPrompt() {
  let isMuted = false
  const output = new Writable({
    write: (part, _, done) => {
      if (!isMuted) process.stderr.write(part)
      done()
    },
  })
  const terminal = createInterface({ input: process.stdin, output, terminal: true })
  return {
    close: () => terminal.close(),
    ask: async ({ text, isSecret, problemOf }: Question): Promise<string> => {
      for (;;) {
        const answered = terminal.question(`${text}: `)
        isMuted = isSecret === true
        const answer = (await answered).trim()
        isMuted = false
        if (isSecret) process.stderr.write('\n')
        const problem = problemOf(answer)
        if (problem === null) return answer
        process.stderr.write(`  ${problem}\n`)
      }
    },
  }
}
