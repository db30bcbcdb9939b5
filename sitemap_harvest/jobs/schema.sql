-- What the queue knows of each site, beside the jobs of procrastinate. Changes need a migration: see queue_tables.py.

CREATE TABLE IF NOT EXISTS sitemap_harvest_version (   -- one row
    version integer NOT NULL,       -- of these tables
    lease double precision          -- of all workers, in seconds; NULL: there was none yet
);

CREATE TABLE IF NOT EXISTS sitemap_harvest_plans (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    store text NOT NULL,
    arguments jsonb NOT NULL,       -- of each crawl
    every interval,                 -- NULL: once, or at intervals that depend on the site
    budget double precision,        -- crawls a day, for intervals that depend on the site; NULL: they do not
    blocks integer NOT NULL DEFAULT 1,  -- into which a giant site is split
    multiplier double precision,    -- of the intervals, as computed last; NULL: not yet
    ceiling_days double precision,  -- the longest of the intervals
    balanced_at timestamptz         -- when both were computed
);

CREATE TABLE IF NOT EXISTS sitemap_harvest_sites (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    store text NOT NULL,
    site text NOT NULL,             -- or the URL of a document
    plan bigint NOT NULL REFERENCES sitemap_harvest_plans,
    owner uuid NOT NULL DEFAULT gen_random_uuid(),  -- the beginning of the names of its jobs
    crawl uuid NOT NULL DEFAULT gen_random_uuid(),  -- their end: another one after each crawl that has stored a run
    lock text NOT NULL,             -- at most one crawl at a time has it
    priority integer NOT NULL DEFAULT 0,
    due_at timestamptz,             -- NULL: no further crawl is planned
    turn_at timestamptz,            -- when to make a job of it: when it is due, or later if its lock has enough jobs
    job bigint,                     -- in procrastinate_jobs, waiting or running; NULL: none
    paused boolean NOT NULL DEFAULT false,
    split jsonb,                    -- what the crawl that is under way has left to blocks; NULL: nothing
    -- Of the last crawl:
    ended_at timestamptz,
    seconds real,
    result text,                    -- of the site, or the kind of the failure
    reason text,
    run text,                       -- the stored run; NULL: none
    failures jsonb NOT NULL DEFAULT '{}',   -- by kind, since the last crawl that has not failed
    given_up boolean NOT NULL DEFAULT false,
    -- Of all crawls:
    crawls integer NOT NULL DEFAULT 0,
    changes double precision NOT NULL DEFAULT 0,    -- with less weight the older they are, as are
    days double precision NOT NULL DEFAULT 0,       -- the days of observation
    observed_at timestamptz,        -- the last crawl that could tell whether the site changed
    UNIQUE (store, site)
);

CREATE INDEX IF NOT EXISTS sitemap_harvest_sites_turn ON sitemap_harvest_sites (priority DESC, turn_at)
    WHERE job IS NULL AND turn_at IS NOT NULL AND NOT paused;
CREATE INDEX IF NOT EXISTS sitemap_harvest_sites_job ON sitemap_harvest_sites (job) WHERE job IS NOT NULL;

CREATE TABLE IF NOT EXISTS sitemap_harvest_blocks (    -- those that have not ended
    site bigint NOT NULL REFERENCES sitemap_harvest_sites ON DELETE CASCADE,
    number integer NOT NULL,
    job bigint,                     -- in procrastinate_jobs, waiting or running; NULL: none
    attempts integer NOT NULL DEFAULT 0,    -- begun so far
    PRIMARY KEY (site, number)
);

CREATE TABLE IF NOT EXISTS sitemap_harvest_parts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request text NOT NULL,          -- of one command: the jobs that it waits for
    part jsonb NOT NULL,
    job bigint,                     -- in procrastinate_jobs; NULL: it has ended
    result jsonb,                   -- the counts, or NULL
    reason text                     -- why it failed; NULL: it did not
);
CREATE INDEX IF NOT EXISTS sitemap_harvest_parts_request ON sitemap_harvest_parts (request);
