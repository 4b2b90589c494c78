/** A warehouse of 0.1.0, from a dump of its schema. */
import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import pg from 'pg'

/** Creates it in an empty database. With Postgres, in the schema that the URL names. */
export async function createReleased({ kind, url }: { kind: 'sqlite' | 'postgres'; url: string }): Promise<void> {
  const text = readFileSync(new URL(`released-0.1.0.${kind}.sql`, import.meta.url), 'utf8')
  if (kind === 'sqlite') {
    const file = new Database(url.replace('sqlite:', ''))
    file.exec(text)
    return void file.close()
  }
  const plain = new URL(url)
  const name = plain.searchParams.get('schema') ?? 'public'
  plain.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: plain.href })
  await client.connect()
  const schema = client.escapeIdentifier(name)
  await client.query(
    `drop schema if exists ${schema}; drop schema if exists warehouse; create schema warehouse; ${text}`,
  )
  if (name !== 'warehouse') await client.query(`alter schema warehouse rename to ${schema}`)
  await client.end()
}
