/**
 * Statements that write, attach, load, lock or return a gigabyte, by database: none of them may do
 * it.
 */
import { seededRandom } from '../support/seeded-random.ts'

export const hostileTables = [
  'conversations',
  'message_rows',
  'visitors',
  'writebacks',
  'sync_gaps',
  'fct_conversation',
  'fct_wait',
  'dim_project',
]

const onBoth = (table: string): readonly string[] => [
  `delete from ${table}`,
  `update ${table} set project_id = 'x'`,
  `insert into ${table} (project_id) values ('x')`,
  `insert into ${table} (project_id) values ('x') returning *`,
  `delete from ${table} returning *`,
  `with gone as (delete from ${table} returning *) select * from gone`,
  `with x as (select 1) delete from ${table}`,
  `drop table ${table}`,
  `alter table ${table} add column x text`,
  `alter table ${table} rename to x`,
  `create index x on ${table} (project_id)`,
  `create table x as select * from ${table}`,
  `create temporary table x as select * from ${table}`,
  `create view x as select * from ${table}`,
  `select 1; drop table ${table}`,
  `select 1;; delete from ${table}; select 2`,
  `/* select */ delete from ${table}`,
  `-- select\ndelete from ${table}`,
  `explain analyze delete from ${table}`,
  `begin; delete from ${table}; commit`,
  `commit; delete from ${table}`,
  `rollback and chain; delete from ${table}`,
  `select * from ${table} for update`,
  `select * from ${table} a, ${table} b, ${table} c, ${table} d, ${table} e`,
]

const onSqlite = (table: string): readonly string[] => [
  `replace into ${table} (project_id) values ('x')`,
  `pragma table_info(${table})`,
  `select * from pragma_table_info('${table}')`,
  `select * from "pragma_table_info"('${table}')`,
  `explain pragma wal_checkpoint(truncate)`,
  `create trigger x after insert on ${table} begin select 1; end`,
  `vacuum into '/tmp/${table}.db'`,
  `reindex ${table}`,
  `analyze ${table}`,
  `attach '/tmp/${table}.db' as x`,
  `attach ':memory:' as x`,
  `select writefile('/tmp/${table}', 'x') from ${table}`,
  `select readfile('/etc/passwd') from ${table}`,
  `select load_extension('/tmp/${table}')`,
  `select edit(project_id) from ${table}`,
  `select fts3_tokenizer('simple', x'00') from ${table}`,
  `insert into search_words (search_words) values ('optimize')`,
  `select * from sqlite_dbpage where pgno = 1`,
  `update sqlite_dbpage set data = x'00'`,
  `update sqlite_schema set sql = '' where name = '${table}'`,
  `delete from sqlite_master where name = '${table}'`,
]
const sqliteOnce = [
  ...[
    'writable_schema = on',
    'query_only = off',
    'journal_mode = delete',
    'user_version = 7',
    'application_id = 7',
  ],
  ...[
    'wal_checkpoint(truncate)',
    'optimize',
    'incremental_vacuum',
    'schema_version = 1',
    'encoding = "UTF-16"',
  ],
  ...[
    'locking_mode = exclusive',
    'temp_store_directory = "/tmp"',
    'trusted_schema = on',
    'hard_heap_limit = 1',
  ],
].map((pragma) => `pragma ${pragma}`)

const onPostgres = (table: string): readonly string[] => [
  `truncate ${table}`,
  `lock table ${table} in access exclusive mode`,
  `select * from ${table} for share`,
  `select * into x from ${table}`,
  `copy ${table} to '/tmp/x'`,
  `copy ${table} to program 'cat > /tmp/x'`,
  `copy (select * from ${table}) to stdout`,
  `merge into ${table} using ${table} s on true when matched then delete`,
  `grant all on ${table} to public`,
  `vacuum ${table}`,
  `analyze ${table}`,
  `cluster ${table}`,
  `refresh materialized view ${table}`,
  `do $$ begin delete from ${table}; end $$`,
  `create function x() returns int language sql as 'delete from ${table} returning 1'`,
  `prepare x as delete from ${table}`,
  `execute x`,
  `notify ${table}`,
  `listen ${table}`,
  `set role postgres`,
  `reset role`,
  `set transaction read write`,
  `set session authorization postgres`,
  `select set_config('role', 'postgres', false) from ${table}`,
  `select set_config('transaction_read_only', 'off', true) from ${table}`,
  `select set_config('session_authorization', 'postgres', false)`,
  `select query_to_xml('delete from ${table}', true, true, '')`,
  `select query_to_xml('set transaction read write; delete from ${table}', true, true, '')`,
  `select lo_import('/etc/passwd')`,
  `select lo_create(0) from ${table}`,
  `select lo_export(1, '/tmp/x')`,
  `select lo_unlink(oid) from pg_largeobject_metadata`,
  `select pg_read_file('/etc/passwd') from ${table}`,
  `select pg_read_binary_file('postgresql.conf')`,
  `select pg_ls_dir('.')`,
  `select * from pg_authid`,
  `select pg_reload_conf()`,
  `select pg_rotate_logfile()`,
  `select pg_terminate_backend(pid) from pg_stat_activity where usename <> current_user`,
  `select pg_switch_wal()`,
  `select nextval(c.oid::regclass) from pg_class c where relkind = 'S'`,
  `select setval(c.oid::regclass, 1) from pg_class c where relkind = 'S'`,
  `select dblink('dbname=postgres', 'delete from ${table}')`,
  `select pg_logical_emit_message(false, 'x', project_id) from ${table}`,
  `select pg_notify('x', project_id) from ${table}`,
  `select pg_advisory_lock(1), pg_advisory_lock(2)`,
]

/**
 * 500 or more, always the same, in a mixed order. Each is refused, fails, or answers in the limits.
 */
export function hostileStatements(kind: 'sqlite' | 'postgres'): readonly string[] {
  const own = kind === 'sqlite' ? onSqlite : onPostgres
  const all = [...new Set(hostileTables.flatMap((table) => [...onBoth(table), ...own(table)]))]
  if (kind === 'sqlite') all.push(...sqliteOnce)
  const random = seededRandom(1)
  const variants = [
    ...all,
    ...all.map((text) => vary(text, random)),
    ...all.map((text) => vary(text, random)),
  ]
  return [...new Set(variants)].slice(0, 500)
}

/** The same in other letters, with comments and signs that parsers read differently. */
function vary(text: string, random: () => number): string {
  const ways = [
    () => text.toUpperCase(),
    () => `\ufeff ${text}`,
    () => `;${text}`,
    () => `/* ' */ ${text} -- '`,
    () => `-- /*\n${text} /* ; */`,
    () => `${text};`,
    () => text.replaceAll(' ', '\n\t'),
    () => text.replaceAll(' ', '/**/'),
    () => `select '${text.replaceAll("'", "''")}'; ${text}`,
    () => `with x as (select 1) ${text}`,
    () => `(${text})`,
    () => `select * from (${text}) as x`,
  ]
  return ways[Math.floor(random() * ways.length)]?.() ?? text
}

/** Statements without an end. */
export const endless = {
  sqlite: [
    'with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r',
    'with recursive r(x) as (select 1 union all select x + 1 from r) select x from r where x < 0',
    'select count(*) from message_rows a, message_rows b, message_rows c, message_rows d, message_rows e',
  ],
  postgres: [
    'with recursive r(x) as (select 1::numeric union all select x + 1 from r) select count(*) from r',
    'select pg_sleep(1000000)',
    `select set_config('statement_timeout', '0', false) union all select pg_sleep(1000000)::text`,
  ],
} as const

/** Statements whose answer, or what they need for it, is a gigabyte or more. */
export const enormous = {
  sqlite: [
    'select randomblob(1000000000) from message_rows',
    'select zeroblob(999999999) from message_rows',
    'select hex(zeroblob(400000000)) from message_rows',
    `select printf('%.*c', 2000000000, 'x') from message_rows`,
    `select replace(zeroblob(1000), x'00', zeroblob(1000000)) from message_rows`,
    'select group_concat(zeroblob(900000000)) from message_rows',
    'select json_group_array(project_id || zeroblob(300000000)) from message_rows',
    'select a.raw from message_rows a, message_rows b, message_rows c, message_rows d, message_rows e order by random()',
  ],
  postgres: [
    `select repeat('x', 1000000000) from message_rows`,
    `select repeat('x', 100000000) || project_id from message_rows`,
    `select array_agg(repeat('x', 10000000)) from generate_series(1, 50)`,
  ],
} as const
