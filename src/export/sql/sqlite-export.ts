/**
 * Writes tables into a new SQLite file for tools that open it from a read-only folder: without a
 * write-ahead log, which they could not read there, and with the types that BI tools look at.
 */
import Database from 'better-sqlite3'
import { lookUpExplanation, UserError } from '../../values/user-error.ts'
import { quoteName } from '../../warehouse/dialect.ts'
import { sqliteExplanations } from '../../warehouse/error-tables.ts'
import { optimizeAllTables } from '../../warehouse/sqlite.ts'
import type { ExportSelection, ExportType, ExportValue, RowWriter } from '../core/selection.ts'

/** The declared types; times and dates are text in them, as in the warehouse. */
const declaredTypes: Readonly<Record<ExportType, string>> = {
  text: 'text',
  integer: 'integer',
  number: 'real',
  boolean: 'boolean',
  time: 'timestamp',
  date: 'date',
  json: 'text',
}

/** `path`: an empty or missing file; `label`: its name. A full disk and the like are UserErrors. */
export function createSqliteExport(path: string, label: string) {
  const explained = (work: () => void) => {
    try {
      work()
    } catch (error) {
      const code = error instanceof Database.SqliteError ? error.code : ''
      const explanation = lookUpExplanation(sqliteExplanations('--output'), code)
      throw explanation === undefined
        ? error
        : new UserError({ what: `cannot write ${label}`, ...explanation })
    }
  }
  const database = new Database(path)
  // Nobody reads the file before it is complete, so nothing has to be restored after a crash.
  database.pragma('journal_mode = off')
  database.pragma('synchronous = off')
  database.exec('begin')
  return {
    /** A view becomes a table. */
    addTable: (selection: ExportSelection): RowWriter => {
      try {
        database.exec(createTableStatement(selection))
      } catch (error) {
        if (!(error instanceof Database.SqliteError)) throw error
        throw new UserError({
          what: `cannot export ${selection.object.name}`,
          why: `SQLite cannot have such a table: ${error.message}`,
          next: 'name other columns with --columns, or choose another format',
        })
      }
      const values = selection.columns.map(() => '?').join(', ')
      const insert = database.prepare(
        `insert into ${quoteName(selection.object.name)} values (${values})`,
      )
      return {
        write: async (rows) =>
          explained(() => {
            for (const row of rows) insert.run(row.map(toSqlValue))
          }),
        end: async () => {},
      }
    },
    /** The file is complete and on disk. */
    finish: () =>
      explained(() => {
        database.exec('commit')
        database.pragma('analysis_limit = 1000')
        database.pragma(optimizeAllTables)
        database.close()
      }),
    /** Closes a file that is not complete. */
    discard: () => database.close(),
  }
}

function createTableStatement({ object, columns }: ExportSelection): string {
  const definitions = columns.map(({ name, type }) => `${quoteName(name)} ${declaredTypes[type]}`)
  const hasKey =
    object.key.length > 0 && object.key.every((key) => columns.some(({ name }) => name === key))
  const key = hasKey ? [`primary key (${object.key.map(quoteName).join(', ')})`] : []
  return (
    `create table ${quoteName(object.name)} (${[...definitions, ...key].join(', ')})` +
    (hasKey ? ' without rowid' : '')
  )
}

function toSqlValue(value: ExportValue): string | number | bigint | null {
  return typeof value === 'boolean' ? Number(value) : value
}
