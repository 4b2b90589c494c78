/** `deskmirror writeback add`: queues one write-back; a sub-command for each operation, with its own options. */
import { isUtf8 } from 'node:buffer'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { ProjectConfig } from '../../config.ts'
import type { AddReport } from '../../core/outbox/report.ts'
import { readWish, tooLate, type Wish } from '../../core/outbox/wish.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import { type Typed, typedIn } from '../../core/typed.ts'
import { UserError } from '../../core/user-error.ts'
import { type Answer, give, theOne } from '../answer.ts'
import { jsonOption, oneProjectOption, quietOption } from '../options.ts'
import type { Shell } from '../shell.ts'
import { expiresOption, expiryAt } from './expiry.ts'
import { outlookLines } from './outlook.ts'

type Options = {
  readonly conversation?: string
  readonly visitor?: string
  readonly content?: string
  readonly senderName?: string
  readonly handled?: boolean
  readonly name?: string
  readonly clearName?: true
  readonly email?: string
  readonly clearEmail?: true
  readonly ref?: string
  readonly expect?: string
  readonly expiresAt?: string
  readonly expires?: Ms
  readonly project?: string
  readonly quiet?: true
  readonly json?: true
}

const examples: Readonly<Record<Wish['operation'], readonly string[]>> = {
  message: [
    'message --conversation ID --sender-name Ann --content "We have found it."',
    'message --conversation ID --sender-name Ann --content - < reply.txt',
  ],
  handled: [
    'handled --conversation ID                     marks it handled',
    'handled --conversation ID --handled false     reopens it',
  ],
  note: ['note --visitor ID --content "Asked for an invoice."'],
  visitor: ['visitor --visitor ID --name "Ada Lovelace" --clear-email'],
}

const help = (shown: readonly string[]) => `
Examples:
${shown.map((call) => `  $ deskmirror writeback add ${call}`).join('\n')}

It is sent by \`deskmirror push\`, or by a worker that runs.
Standard output is the id of what was queued, on a line by itself.
Exit code: 0 queued, or its --ref was queued before · 1 failed, trying again may help · 2 a person must change something`

export function addCommand(shell: Shell): Command {
  const command = new Command('add')
    .summary('queue one write-back')
    .description('Queues one write-back. `deskmirror writeback add <operation> --help` shows its options.')
    .addHelpText('after', help(Object.values(examples).flat()))
  for (const operation of operations(shell)) command.addCommand(operation)
  return command
}

function operations(shell: Shell): Command[] {
  const conversation = () => new Option('--conversation <id>', 'the conversation that it is about (required)')
  const visitor = () => new Option('--visitor <id>', 'the visitor that it is about (required)')
  const content = () => new Option('--content <text>', 'what to say; - reads it from standard input (required)')
  return [
    operation(shell, 'message', 'a reply to the visitor of a conversation; it reopens the conversation', [
      conversation(),
      content(),
      new Option('--sender-name <name>', 'the name that the visitor sees (required)'),
    ]),
    operation(shell, 'handled', 'mark a conversation handled, or reopen it', [
      conversation(),
      new Option('--handled <true|false>', 'false reopens it').argParser(truth).default(true),
    ]),
    operation(shell, 'note', 'an internal note to a visitor', [visitor(), content()]),
    operation(shell, 'visitor', 'correct the name of a visitor, the email, or both; what is left out is kept', [
      visitor(),
      new Option('--name <name>', 'the new name'),
      new Option('--clear-name', 'no name any more').conflicts('name'),
      new Option('--email <email>', 'the new email address'),
      new Option('--clear-email', 'no email address any more').conflicts('email'),
    ]),
  ]
}

function operation(shell: Shell, name: Wish['operation'], description: string, own: readonly Option[]): Command {
  const command = new Command(name).summary(description).description(sentence(description))
  const common = [
    new Option('--ref <key>', 'your own key: the same one is never queued twice'),
    new Option(
      '--expect <message>',
      'the last message that you saw, its id or its time: not sent if a visitor wrote since',
    ),
    new Option('--expires-at <time>', 'not to be sent after it, for example 2026-01-31T18:00:00Z').conflicts('expires'),
    expiresOption(),
    oneProjectOption(),
    quietOption(),
    jsonOption(),
  ]
  for (const option of [...own, ...common]) command.addOption(option)
  return command
    .addHelpText('after', help(examples[name]))
    .action((options: Options) => give(shell, options.json === true, () => add(shell, name, options)))
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function truth(text: string): boolean {
  if (/^(true|yes|1)$/i.test(text)) return true
  if (/^(false|no|0)$/i.test(text)) return false
  throw new InvalidArgumentError('Write true or false.')
}

async function add(shell: Shell, operation: Wish['operation'], options: Options): Promise<Answer> {
  const config = shell.loadConfig('mirror')
  const project = theOne(config.projects, options.project, 'nothing was queued')
  const wish = checked(operation, await lineOf(shell, operation, options), shell.now())
  const { addWriteback } = await shell.queue()
  const report = await addWriteback(config, project, wish, { createdBy: shell.person() })
  if (options.quiet !== true)
    for (const line of hints(report, project, wish, typedIn(config.projects, project.name))) shell.err(`${line}\n`)
  return { document: report, lines: report.id === null ? [] : [report.id], exit: 0 }
}

/** As a line of an import would say it. */
async function lineOf(shell: Shell, operation: Wish['operation'], options: Options) {
  const { conversation, visitor, content, senderName, handled, name, email } = options
  const line = {
    operation,
    conversation_id: conversation,
    visitor_id: visitor,
    content: content === '-' ? await textOf(shell.input()) : content,
    sender_name: senderName,
    handled,
    name: options.clearName ? null : name,
    email: options.clearEmail ? null : email,
    ref: options.ref,
    expect: options.expect,
    expires_at: options.expiresAt ?? expiryAt(shell.now(), options.expires),
  }
  return Object.fromEntries(Object.entries(line).filter(([, value]) => value !== undefined))
}

/** The last line end is the editor's, or the shell's. */
async function textOf(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of input) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  // A replacement character in place of broken bytes would be sent to a customer.
  if (!isUtf8(bytes)) throw refused('--content: standard input is not UTF-8', 'save the text as UTF-8')
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}

const optionOf: Readonly<Record<string, string>> = { conversation_id: '--conversation', visitor_id: '--visitor' }

/** Mistakes are told by the names of the options. */
function checked(operation: Wish['operation'], line: Readonly<Record<string, unknown>>, now: EpochMs): Wish {
  const read = readWish(line)
  const mistakes = read.ok ? tooLate(read.wish, now) : read.why
  if (read.ok && mistakes.length === 0) return read.wish
  const named = mistakes.map((why) =>
    why.replace(/^[\w, ]+(?=:)/, (fields) =>
      fields.replace(/\w+/g, (field) => optionOf[field] ?? `--${field.replaceAll('_', '-')}`),
    ),
  )
  const next = `\`deskmirror writeback add ${operation} --help\` has examples`
  throw refused(named.join('\n'), next)
}

function refused(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was queued', why, next, exitCode: 2 })
}

function hints({ id, status, ...outlook }: AddReport, project: ProjectConfig, { ref }: Wish, typed: Typed): string[] {
  if (id === null) return [`nothing was queued: the ref ${ref} was queued before`]
  if (status === 'draft') return [`it waits for approval: ${typed(`writeback approve ${id}`)}`]
  return outlookLines(outlook, project, typed).slice(1)
}
