/** A card as it is sent to Metabase, and whether a stored one is the same. */
import type { Engine } from './database-details.ts'

/** As in dashboard.json. */
export type Card = {
  readonly name: string
  readonly description: string
  readonly display: string
  readonly queries: Readonly<Record<Engine, string>>
  readonly templateTags: Readonly<Record<string, object>>
  readonly parameterMappings: readonly { readonly parameter_id: string; readonly target: unknown }[]
  readonly visualizationSettings: Readonly<Record<string, unknown>>
  readonly position: Readonly<Record<'row' | 'col' | 'size_x' | 'size_y', number>>
}

export type CardPlace = {
  readonly engine: Engine
  readonly database: number
  readonly collection: number
  /** What the card shows until people choose another project. */
  readonly project: string
}

export type CardBody = ReturnType<typeof toCardBody>

export function toCardBody(card: Card, { engine, database, collection, project }: CardPlace) {
  const { name, description, display, queries, templateTags, visualizationSettings } = card
  const tags = Object.entries(templateTags).map(([tag, value]) => [
    tag,
    tag === 'project' ? { ...value, default: project } : value,
  ])
  return {
    ...{
      name,
      description,
      display,
      collection_id: collection,
      visualization_settings: visualizationSettings,
    },
    dataset_query: {
      ...{ database, type: 'native' },
      native: { query: queries[engine], 'template-tags': Object.fromEntries(tags) },
    },
  }
}

/** Newer versions of Metabase answer with stages. */
export type StoredCard = Omit<CardBody, 'dataset_query'> & {
  readonly dataset_query: {
    readonly database: number
    readonly native?: { readonly query: string }
    readonly stages?: readonly { readonly native?: string }[]
  }
}

export function isCurrent(wanted: CardBody, stored: StoredCard): boolean {
  const { database, native, stages } = stored.dataset_query
  return (
    wanted.description === stored.description &&
    wanted.display === stored.display &&
    wanted.dataset_query.database === database &&
    wanted.dataset_query.native.query === (native?.query ?? stages?.[0]?.native) &&
    contains(stored.visualization_settings, wanted.visualization_settings)
  )
}

/** Metabase adds settings of its own. */
function contains(stored: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return Object.is(stored, wanted)
  if (typeof stored !== 'object' || stored === null) return false
  return Object.entries(wanted).every(([key, value]) =>
    contains((stored as Record<string, unknown>)[key], value),
  )
}
