/** Creates a schema in a Postgres, for one mirror. */
import pg from 'pg'

/** Returns the URL of the new schema. */
export async function createSchema(server: string, name: string): Promise<string> {
  const client = new pg.Client(server)
  await client.connect()
  await client.query(`create schema ${name}`)
  await client.end()
  return `${server}?schema=${name}`
}
