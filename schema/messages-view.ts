/**
 * `messages` is a view of `message_rows`, which has only those fields of a row that its columns do
 * not hold; the view rebuilds the row as the service sent it, and what is written to it is written
 * to the table. Every new column needs the view anew.
 */
import type { DatabaseKind } from './column-types.ts'
import { type Run, schemaOf } from './create-missing.ts'

/** The documented fields beside the id, in the service's order, with their columns. */
const fields = {
  conversationId: 'conversation_id',
  senderType: 'sender_type',
  kind: 'kind',
  content: 'content',
  senderDisplayName: 'sender_display_name',
  createdAt: 'created_at',
} as const

/** The columns of the view come first; discovered ones follow them. */
const columns =
  'project_id raw synced_at run_id asked_at deleted_at conversation_id id sender_type kind ' +
  'content sender_display_name created_at'

/** `without`: a column of the table that the view is not to show. */
export async function createMessagesView(
  run: Run,
  kind: DatabaseKind,
  without?: string,
): Promise<void> {
  const found = await run(
    kind === 'sqlite'
      ? `select name from pragma_table_info('message_rows') order by cid`
      : `select attname as name from pg_attribute
          where attrelid = to_regclass('message_rows') and attnum > 0 and not attisdropped
          order by attnum`,
  )
  const names = found.map(({ name }) => String(name)).filter((name) => name !== without)
  const list = [...new Set([...columns.split(' '), ...names])].map((name) => `"${name}"`)
  const schema = kind === 'sqlite' ? 'main' : await schemaOf(run)
  const values = list.map((name) => written[kind][name] ?? `new.${name}`)
  for (const statement of statements[kind]({ list, values, schema })) await run(statement)
}

/**
 * `raw` of the table: fields that the columns do not hold; or a list of one element, the whole row,
 * where a column has something that the row does not, or `raw` was written by hand.
 */
const rebuiltRow: Readonly<Record<DatabaseKind, string>> = {
  // A list is cut as text: a row of more levels than SQLite's JSON functions read would fail every
  // query. The empty text makes a text of what others would take for JSON.
  sqlite: `case
    when raw = '{}' and ${Object.values(fields)
      .map((column) => `${column} is not null`)
      .join(' and ')}
      then json_object('id', id, ${namesAndColumns({})}) || ''
    when substr(raw, 1, 1) = '[' then substr(raw, 2, length(raw) - 2)
    else '{"id":' || id || ${Object.entries(fields)
      .map(([field, column]) => textUnlessKept(field, column))
      .join(' || ')} || case raw when '{}' then '}' else ',' || substr(raw, 2) end
    end`,
  postgres: `case
    when raw is null then ${fromColumns()}
    when jsonb_typeof(raw) = 'array' then raw -> 0
    else ${fromColumns()} || raw
    end`,
}

function textUnlessKept(field: string, column: string): string {
  return `case when ${column} is null or raw -> '${field}' is not null then ''
    else ',"${field}":' || json_quote(${column}) end`
}

function fromColumns(): string {
  const createdAt = `to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
  return `jsonb_strip_nulls(jsonb_build_object('id', id, ${namesAndColumns({ createdAt })}))`
}

/** `expressions`: in place of columns. */
function namesAndColumns(expressions: Readonly<Record<string, string>>): string {
  return Object.entries({ ...fields, ...expressions })
    .map(([field, value]) => `'${field}', ${value}`)
    .join(', ')
}

/** What the view shows otherwise than the table has it. */
const shown: Readonly<Record<DatabaseKind, Readonly<Record<string, string>>>> = {
  sqlite: { '"raw"': rebuiltRow.sqlite },
  // A text, as in all other tables.
  postgres: { '"raw"': rebuiltRow.postgres, '"run_id"': 'run_id::text' },
}

/** What the table gets of a row that was inserted into the view, or updated. */
const written: Readonly<Record<DatabaseKind, Readonly<Record<string, string>>>> = {
  sqlite: { '"raw"': "case when new.raw is null then '{}' else json_array(json(new.raw)) end" },
  postgres: {
    '"raw"': 'case when new.raw is not null then pg_catalog.jsonb_build_array(new.raw) end',
    // No run of deskmirror has another id.
    '"run_id"':
      "case when new.run_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then " +
      'new.run_id::pg_catalog.uuid end',
  },
}

/** `list`: the columns of the view, quoted. `values`: what the table gets of each. */
const statements: Readonly<
  Record<
    DatabaseKind,
    (parts: {
      readonly list: readonly string[]
      readonly values: readonly string[]
      readonly schema: string
    }) => readonly string[]
  >
> = {
  sqlite: ({ list, values }) => [
    'drop view if exists messages',
    `create view messages as select ${select(list, 'sqlite')} from message_rows`,
    `create trigger messages_inserted instead of insert on messages begin
      insert into message_rows (${list.join(', ')}) values (${values.join(', ')}); end`,
    `create trigger messages_updated instead of update on messages begin
      update message_rows set ${assignments(list, values, 'is')} ${ofOldKey}; end`,
    `create trigger messages_deleted instead of delete on messages begin delete
      from message_rows ${ofOldKey}; end`,
  ],
  // Deleting needs no trigger.
  postgres: ({ list, values, schema }) => [
    `create or replace view ${schema}.messages as select ${select(list, 'postgres')}
      from ${schema}.message_rows`,
    // The rights that count are those on the view, as for deleting.
    `create or replace function ${schema}.messages_written() returns trigger language plpgsql
      security definer set search_path = pg_catalog, pg_temp as '${`begin
        if tg_op = 'INSERT' then
          insert into ${schema}.message_rows (${list.join(', ')}) values (${values.join(', ')});
        else
          update ${schema}.message_rows set ${assignments(list, values, 'is not distinct from')}
          ${ofOldKey};
        end if;
        return new; end`.replaceAll("'", "''")}'`,
    `revoke all on function ${schema}.messages_written() from public`,
    `drop trigger if exists messages_written on ${schema}.messages`,
    `create trigger messages_written instead of insert or update on ${schema}.messages
      for each row execute function ${schema}.messages_written()`,
  ],
}

const ofOldKey =
  'where project_id = old.project_id and conversation_id = old.conversation_id and id = old.id'

function select(list: readonly string[], kind: DatabaseKind): string {
  return list
    .map((name) => (name in shown[kind] ? `${shown[kind][name]} as ${name}` : name))
    .join(', ')
}

/** `raw` is kept unless it was written, too. */
function assignments(list: readonly string[], values: readonly string[], equals: string): string {
  return list
    .map((name, n) => {
      const value =
        name === '"raw"'
          ? `case when new.raw ${equals} old.raw then raw else ${values[n]} end`
          : values[n]
      return `${name} = ${value}`
    })
    .join(', ')
}
