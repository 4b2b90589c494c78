/**
 * Importing a file in the browser: it becomes a draft batch, or a page that says what is wrong with
 * it.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import fastifyMultipart, { type MultipartFile } from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { asDrafts, importWritebacks } from '../../app/import.ts'
import type { Config, ProjectConfig } from '../../config/config.ts'
import type { ImportOptions } from '../../imports/imports.ts'
import { readHead, withImportFile } from '../../imports/open-file.ts'
import { isMeaning, type SheetOptions } from '../../imports/reply-sheet.ts'
import { isWorkbook } from '../../imports/workbook.ts'
import { toMistake } from '../../outbox/core/writeback-request.ts'
import type { ColumnMap } from '../../outbox/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { pluralize } from '../../values/format.ts'
import { asJsonObject, tryParseJson } from '../../values/json.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { toSentences, UserError } from '../../values/user-error.ts'
import { addressOf } from '../blocks.ts'
import { draftRole } from '../core/permissions.ts'
import { settingsOf } from '../decisions.ts'
import { type ImportForm, type ImportProblem, importedPage, importPage } from '../pages/import.ts'
import { fileTypes } from '../table-file.ts'
import { type OpenedToWrite, type Site, valuesOf } from './site.ts'

const maxFileBytes = 20_000_000
const maxNameLength = 200

/** A column for each, but so many only as a person reads. */
const maxNamedColumns = 60

export async function addImport(app: FastifyInstance, site: Site): Promise<void> {
  const { now } = site
  const kept = createKeptFiles(now)
  await app.register(fastifyMultipart, {
    throwFileSizeLimit: true,
    limits: { fileSize: maxFileBytes, files: 1, fields: 10, fieldSize: 4000, parts: 12 },
  })
  const open = (request: FastifyRequest, reply: FastifyReply) =>
    site.openToWrite(request, reply, draftRole)
  const show = (
    reply: FastifyReply,
    status: 400 | 422,
    form: ImportForm,
    why: ImportProblem,
    { frame, project }: OpenedToWrite,
  ) => site.send(reply.code(status), importPage(project, frame, form, why), project)
  const importFile = async (
    reply: FastifyReply,
    opened: OpenedToWrite,
    form: ImportForm,
    file: KeptFile,
  ) => {
    const { config, project, viewer, frame } = opened
    const audit: ImportOptions['audit'] = (count, alreadyQueued, batch) => ({
      project: project.projectId,
      person: viewer.name,
      role: viewer.role,
      action: 'imported_drafts',
      count,
      subject: count === 0 ? null : batch,
      detail: `${file.name}${alreadyQueued === 0 ? '' : ` · ${alreadyQueued} rows were queued before`}`,
    })
    const options = { createdBy: viewer.name, audit, now: now() }
    const parse = viewer.hidesMessages ? { findConversation: findsNobody } : {}
    const result = await importDrafts(config, settingsOf(config, project), file, {
      ...options,
      form,
      parse,
    }).catch(toProblem)
    if ('problem' in result) return show(reply, 422, form, result, opened)
    const { report, mistakesFile, head } = result
    if ('alreadyQueued' in report) {
      const { batch, alreadyQueued, notices, emptyRows } = report
      // What the person has let through, they know.
      const isToBeSeen =
        notices.some(({ override }) => override === null) || (alreadyQueued > 0 && batch === null)
      if (isToBeSeen) return site.send(reply, importedPage(report, frame), project)
      if (batch === null)
        return show(reply, 422, form, { problem: nothingWritten(emptyRows) }, opened)
      const empty = emptyRows === 0 ? null : String(emptyRows)
      return reply.redirect(withQuery(addressOf(frame, 'batches', batch), { empty }), 303)
    }
    const key = mistakesFile && kept.add(viewer.name, mistakesFile)
    const isUnnamed = report.outcome === 'mistaken' && report.rows === 0 && head.length > 0
    const unnamed =
      isUnnamed && head.length <= maxNamedColumns
        ? { key: kept.add(viewer.name, file), columns: head }
        : null
    const mistakesAddress = key && addressOf(frame, 'import', 'mistakes', key)
    return show(reply, 422, form, { rejected: report, mistakesAddress, unnamed }, opened)
  }
  app.post('/p/:project/import', async (request, reply) => {
    const opened = await open(request, reply)
    if (opened === null) return reply
    const part = await readPart(request)
    const form = readForm(textsOf(part?.fields))
    if (part === undefined || part.filename === '')
      return show(reply, 400, form, { problem: 'choose a file' }, opened)
    const bytes = await wholeFile(part.file).catch(toProblem)
    if ('problem' in bytes) return show(reply, 422, form, bytes, opened)
    return importFile(reply, opened, form, {
      name: withoutControls(part.filename).slice(0, maxNameLength),
      bytes,
    })
  })
  /** The same file, when a person has said what its columns mean. */
  app.post<{ Params: { key: string } }>(
    '/p/:project/import/columns/:key',
    async (request, reply) => {
      const opened = await open(request, reply)
      if (opened === null) return reply
      const texts = valuesOf(request.body)
      const form = readForm((name) => texts(name).at(0) ?? '')
      const file = kept.find(opened.viewer.name, request.params.key)
      const problem = 'the file is no longer kept here; choose it again'
      return file === null
        ? show(reply, 422, form, { problem }, opened)
        : importFile(reply, opened, form, file)
    },
  )
  app.get<{ Params: { key: string } }>(
    '/p/:project/import/mistakes/:key',
    async (request, reply) => {
      if (!(await site.requireRole(request, reply, draftRole))) return reply
      const file = kept.find(request.viewer?.name ?? '', request.params.key)
      if (file === null) return reply.callNotFound()
      return reply
        .type(fileTypes[isWorkbook(file.bytes) ? 'xlsx' : 'csv'])
        .header('content-disposition', `attachment; filename="${file.name}"`)
        .send(file.bytes)
    },
  )
}

function nothingWritten(rows: number): string {
  if (rows === 0) return 'the file has no rows'
  return (
    `no row has a reply or a flag; ${pluralize(rows, 'row')} ` +
    `${rows === 1 ? 'is' : 'are'} empty`
  )
}

/** An error that is no problem of the file is thrown. */
function toProblem(error: unknown): { problem: string } {
  if (error instanceof UserError) return { problem: toSentences(error) }
  throw error
}

/**
 * Of a person who may not read messages: that an address is found says that it is there, and shows
 * whose it is.
 */
const findsNobody = () => ({
  mistake: toMistake(
    'conversation_id',
    'is needed: who may not read messages finds nobody by an address or a name',
  ),
})

/**
 * Always as drafts, which send nothing. `mistakesFile`: the rows with mistakes, as a workbook if the
 * file is one; null = there are none. `head`: the columns of a table.
 */
async function importDrafts(
  config: Config,
  project: ProjectConfig,
  { name, bytes }: KeptFile,
  {
    form,
    parse,
    ...options
  }: Pick<ImportOptions, 'createdBy' | 'audit' | 'now'> & {
    readonly form: ImportForm
    readonly parse: Pick<SheetOptions, 'findConversation'>
  },
) {
  const folder = await mkdtemp(join(tmpdir(), 'deskmirror-import-'))
  try {
    const mistakesName = `mistakes.${isWorkbook(bytes) ? 'xlsx' : 'csv'}`
    const mistakesPath = join(folder, mistakesName)
    const { columns, senderName, allowDuplicates } = form
    const asked = {
      ...parse,
      columns,
      ...(senderName === '' ? {} : { senderName }),
      ...(form.ignoreColumns ? { ignoreColumns: 'all' as const } : {}),
    }
    const common = {
      ...options,
      ...asDrafts,
      allowDuplicates,
      title: form.title || null,
      note: form.note || null,
      mistakesTarget: { path: mistakesPath, overwrite: false, kept: [] },
    }
    const source = () => ({ source: Readable.from([bytes]), name, parse: asked })
    const report = await importWritebacks(config, project, source(), common)
    const hasFile = report.outcome === 'mistaken' && report.mistakesFile !== null
    const head = report.outcome === 'mistaken' ? await withImportFile(source(), readHead) : null
    return {
      report,
      mistakesFile: hasFile ? { name: mistakesName, bytes: await readFile(mistakesPath) } : null,
      head: head?.columns ?? [],
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/**
 * Undefined: there is none. An error of the reader that has no status is about what was sent, such
 * as its boundary.
 */
async function readPart(request: FastifyRequest): Promise<MultipartFile | undefined> {
  if (!request.isMultipart()) return undefined
  try {
    return await request.file()
  } catch (error) {
    if (error instanceof Error && 'statusCode' in error) throw error
    throw Object.assign(new Error('the form cannot be read: send it again', { cause: error }), {
      statusCode: 400,
    })
  }
}

/** The text fields that stand before the file. */
function textsOf(fields: MultipartFile['fields'] | undefined) {
  return (name: string) => {
    const [field] = [fields?.[name]].flat()
    return field?.type === 'field' && typeof field.value === 'string' ? field.value : ''
  }
}

function readForm(given: (name: string) => string): ImportForm {
  const text = (name: string) => withoutControls(given(name))
  return {
    title: text('title'),
    note: text('note'),
    senderName: text('senderName'),
    columns: readMeanings(given),
    allowDuplicates: text('allowDuplicates') === 'yes',
    ignoreColumns: text('ignoreColumns') === 'yes',
  }
}

/** By the key of a header: `columns` of the form before, and each that was just chosen. */
function readMeanings(given: (name: string) => string): ColumnMap {
  const before = Object.entries(asJsonObject(tryParseJson(given('columns'))) ?? {})
  const chosen = Array.from(
    { length: maxNamedColumns },
    (_, n) => [given(`header${n}`), given(`meaning${n}`)] as const,
  )
  const meanings = [...before, ...chosen].filter(
    ([header, meaning]) => header !== '' && isMeaning(String(meaning)),
  )
  return Object.fromEntries(meanings.map(([header, meaning]) => [header, String(meaning)]))
}

/** Nothing of a file is imported unless all of it arrived. */
async function wholeFile(file: MultipartFile['file']): Promise<Buffer> {
  const bytes = await file.toArray().catch(() => null)
  if (bytes === null) throw refusedFile('it did not arrive whole', 'Send it again')
  if (file.truncated)
    throw refusedFile('it is larger than 20 MB', 'Import it with `deskmirror writeback import`')
  return Buffer.concat(bytes)
}

function refusedFile(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was imported', why, next, exitCode: 2 })
}

/** Postgres stores no NUL, and a log has no use for the others. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').trim()
}

type KeptFile = { readonly name: string; readonly bytes: Buffer }

/**
 * Files that a page still needs when it was made: kept in memory for a while, for the person who
 * made them.
 */
const keptMs: Ms = 15 * 60_000
/** Each has 20 MB at most; the oldest go first. */
const maxFiles = 5

function createKeptFiles(now: () => EpochMs) {
  const files = new Map<string, KeptFile & { readonly person: string; readonly until: EpochMs }>()
  const forget = () => {
    for (const [key, { until }] of files)
      if (until <= now() || files.size > maxFiles) files.delete(key)
  }
  return {
    /** Returns the key. */
    add: (person: string, file: KeptFile): string => {
      const key = randomBytes(18).toString('base64url')
      files.set(key, { ...file, person, until: now() + keptMs })
      forget()
      return key
    },
    find: (person: string, key: string): KeptFile | null => {
      forget()
      const file = files.get(key)
      return file?.person === person ? file : null
    },
  }
}
