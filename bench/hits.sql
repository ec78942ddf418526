-- Queries of a web analytics table (bench/gen_hits), of the kinds that ClickBench asks: one a line, numbered from 0 by
-- bench/hits.  Where a LIMIT could choose among equals more columns order the rows, so that there is one right result.
select count(*) from hits
select count(*) from hits where AdvEngineID <> 0
select sum(AdvEngineID), count(*), avg(ResolutionWidth) from hits
select avg(UserID) from hits
select count(distinct UserID) from hits
select count(distinct SearchPhrase) from hits
select min(EventDate), max(EventDate) from hits
select AdvEngineID, count(*) from hits where AdvEngineID <> 0 group by AdvEngineID order by count(*) desc, 1
select RegionID, count(distinct UserID) as u from hits group by RegionID order by u desc, 1 limit 10
select RegionID, sum(AdvEngineID), count(*) as c, avg(ResolutionWidth), count(distinct UserID) from hits group by RegionID order by c desc, 1 limit 10
select MobilePhoneModel, count(distinct UserID) as u from hits where MobilePhoneModel <> '' group by MobilePhoneModel order by u desc, 1 limit 10
select MobilePhone, MobilePhoneModel, count(distinct UserID) as u from hits where MobilePhoneModel <> '' group by MobilePhone, MobilePhoneModel order by u desc, 1, 2 limit 10
select SearchPhrase, count(*) as c from hits where SearchPhrase <> '' group by SearchPhrase order by c desc, 1 limit 10
select SearchPhrase, count(distinct UserID) as u from hits where SearchPhrase <> '' group by SearchPhrase order by u desc, 1 limit 10
select SearchEngineID, SearchPhrase, count(*) as c from hits where SearchPhrase <> '' group by SearchEngineID, SearchPhrase order by c desc, 1, 2 limit 10
select UserID, count(*) from hits group by UserID order by count(*) desc, 1 limit 10
select UserID, SearchPhrase, count(*) from hits group by UserID, SearchPhrase order by count(*) desc, 1, 2 limit 10
select count(*), sum(c) from (select UserID, SearchPhrase, count(*) as c from hits group by UserID, SearchPhrase) g
select UserID, extract(minute from EventTime) as m, SearchPhrase, count(*) from hits group by UserID, m, SearchPhrase order by count(*) desc, 1, 2, 3 limit 10
select UserID, count(*) from hits where UserID = 685216423364985068 group by UserID
select count(*) from hits where URL like '%tantrek%'
select SearchPhrase, min(URL), count(*) as c from hits where URL like '%tantrek%' and SearchPhrase <> '' group by SearchPhrase order by c desc, 1 limit 10
select SearchPhrase, min(URL), min(Title), count(*) as c, count(distinct UserID) from hits where Title like '%тсентхан%' and URL not like '%.tantrek.%' and SearchPhrase <> '' group by SearchPhrase order by c desc, 1 limit 10
select * from hits where URL like '%tantrek%' order by EventTime, WatchID limit 10
select SearchPhrase from hits where SearchPhrase <> '' order by EventTime, WatchID limit 10
select SearchPhrase from hits where SearchPhrase <> '' order by SearchPhrase limit 10
select SearchPhrase from hits where SearchPhrase <> '' order by EventTime, SearchPhrase limit 10
select CounterID, avg(length(URL)) as l, count(*) as c from hits where URL <> '' group by CounterID having count(*) > 1000 order by l desc, 1 limit 25
select regexp_replace(Referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') as k, avg(length(Referer)) as l, count(*) as c, min(Referer) from hits where Referer <> '' group by k having count(*) > 1000 order by l desc, 1 limit 25
select :sums from hits
select SearchEngineID, ClientIP, count(*) as c, sum(IsRefresh), avg(ResolutionWidth) from hits where SearchPhrase <> '' group by SearchEngineID, ClientIP order by c desc, 1, 2 limit 10
select WatchID, ClientIP, count(*) as c, sum(IsRefresh), avg(ResolutionWidth) from hits where SearchPhrase <> '' group by WatchID, ClientIP order by c desc, 1, 2 limit 10
select WatchID, ClientIP, count(*) as c, sum(IsRefresh), avg(ResolutionWidth) from hits group by WatchID, ClientIP order by c desc, 1, 2 limit 10
select URL, count(*) as c from hits group by URL order by c desc, 1 limit 10
select 1, URL, count(*) as c from hits group by 1, URL order by c desc, 2 limit 10
select ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, count(*) as c from hits group by ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 order by c desc, 1 limit 10
select URL, count(*) as c from hits where CounterID = 62 and EventDate between '2013-07-01' and '2013-07-31' and DontCountHits = 0 and IsRefresh = 0 and URL <> '' group by URL order by c desc, 1 limit 10
select Title, count(*) as c from hits where CounterID = 62 and EventDate between '2013-07-01' and '2013-07-31' and DontCountHits = 0 and IsRefresh = 0 and Title <> '' group by Title order by c desc, 1 limit 10
select URL, count(*) as c from hits where CounterID = 62 and EventDate between '2013-07-01' and '2013-07-31' and IsRefresh = 0 and IsLink <> 0 and IsDownload = 0 group by URL order by c desc, 1 limit 10 offset 100
select TraficSourceID, SearchEngineID, AdvEngineID, case when SearchEngineID = 0 and AdvEngineID = 0 then Referer else '' end as src, URL as dst, count(*) as c from hits where CounterID = 62 and EventDate between '2013-07-01' and '2013-07-31' and IsRefresh = 0 group by TraficSourceID, SearchEngineID, AdvEngineID, src, dst order by c desc, 1, 2, 3, 4, 5 limit 10 offset 1000
select URLHash, EventDate, count(*) as c from hits where CounterID = 62 and EventDate between '2013-07-01' and '2013-07-31' and IsRefresh = 0 and TraficSourceID in (-1, 6) and RefererHash = 4752725990657131974 group by URLHash, EventDate order by c desc, 1, 2 limit 10 offset 10
select WindowClientWidth, WindowClientHeight, count(*) as c from hits where CounterID = 62 and EventDate between '2013-07-01' and '2013-07-31' and IsRefresh = 0 and DontCountHits = 0 and URLHash = 4752725990657131974 group by WindowClientWidth, WindowClientHeight order by c desc, 1, 2 limit 10 offset 10
select date_trunc('minute', EventTime) as m, count(*) as c from hits where CounterID = 62 and EventDate between '2013-07-01' and '2013-07-15' and IsRefresh = 0 and DontCountHits = 0 group by m order by m limit 10 offset 100
