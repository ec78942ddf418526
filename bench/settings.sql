-- Queries of all kinds, one a line: bench/settings measures each with batches and without, beside those of hits.sql.
select count(*) from sales
select count(*) from sales where ss_quantity is null
select sum(ss_quantity), avg(ss_list_price) from sales
select sum(ss_ext_sales_price - ss_ext_discount_amt) from sales
select sum(ss_net_paid * 2 + ss_ext_tax) from sales where ss_store_sk = 4
select min(ss_net_profit), max(ss_net_profit) from sales
select min(ss_sold_date_sk), max(ss_sold_date_sk) from sales
select stddev(ss_quantity), variance(ss_list_price) from sales
select count(distinct ss_customer_sk) from sales
select ss_store_sk, count(*), sum(ss_net_paid) from sales group by ss_store_sk
select ss_store_sk, ss_promo_sk, avg(ss_quantity) from sales group by 1, 2
select ss_item_sk, sum(ss_net_profit) from sales group by 1 order by 2 desc nulls last limit 5
select ss_ticket_number, sum(ss_net_paid) from sales group by 1 order by 2 desc nulls last limit 5
select ss_ticket_number, count(*) from sales group by 1 having count(*) > 15 order by 1 limit 5
select ss_quantity / 10, count(*) from sales group by 1
select case when ss_quantity < 20 then 'low' when ss_quantity < 80 then 'mid' else 'high' end, count(*) from sales group by 1
select distinct ss_store_sk from sales
select distinct ss_store_sk, ss_quantity from sales
select count(*) filter (where ss_quantity > 50), sum(ss_net_paid) filter (where ss_store_sk = 2) from sales
select grouping(ss_store_sk), ss_store_sk, count(*) from sales group by rollup (ss_store_sk)
select string_agg(ss_store_sk::text, ',') from sales where ss_item_sk = 17
select array_agg(ss_item_sk order by ss_item_sk) from sales where ss_ticket_number = 4711
select percentile_cont(0.5) within group (order by ss_net_paid) from sales where ss_store_sk = 4
select * from sales where ss_ticket_number = 4711
select * from sales where ss_ticket_number = 4711 and ss_item_sk = 1
select ss_net_paid from sales where ss_customer_sk = 815
select count(*), sum(ss_net_paid) from sales where ss_customer_sk between 100 and 120
select * from sales limit 1
select * from sales limit 100
select * from sales offset 100000 limit 10
select ss_item_sk from sales where ss_quantity = 77 limit 10
select * from sales where ss_net_profit > 9000
select ss_item_sk, ss_net_paid from sales where ss_item_sk = 1234
select ss_item_sk, ss_net_paid from sales where ss_item_sk in (1, 22, 333, 4444)
select count(*) from sales where ss_item_sk % 7 = 3 and ss_quantity > 10
select count(*) from sales where ss_net_paid between 100 and 200 or ss_coupon_amt > 500
select count(*) from sales where sqrt(ss_quantity) > 7
select count(*) from sales where ss_sold_date_sk between 2451000 and 2451030
select * from sales where ss_sold_date_sk = 2451000
select * from sales order by ss_net_paid desc nulls last limit 10
select ss_ticket_number, rank() over (partition by ss_store_sk order by ss_net_paid) from sales where ss_sold_date_sk = 2451000
select count(*) from sales a join sales b using (ss_ticket_number) where a.ss_item_sk = 1 and b.ss_item_sk < 100
select s.ss_store_sk, count(*) from sales s join small t on s.ss_item_sk = t.ss_item_sk group by 1
select count(*) from sales where ss_item_sk in (select ss_item_sk from small)
select count(*) from sales s where exists (select from small t where t.ss_customer_sk = s.ss_customer_sk)
select count(*) from sales s left join small t on t.ss_ticket_number = s.ss_ticket_number where t.ss_ticket_number is null
select (select max(ss_net_paid) from sales where ss_customer_sk = t.ss_customer_sk) from small t
select count(*) from small
select ss_store_sk, sum(ss_net_paid) from small group by 1
select * from small where ss_quantity > 50
select count(*), sum(ss_net_paid) from touched
select ss_store_sk, count(*), sum(ss_net_paid) from touched group by 1
select * from touched where ss_net_profit > 5000
select count(*) from touched where ss_quantity between 10 and 20
select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_discount), count(*) from lineitem where l_shipdate <= date '1998-09-02' group by 1, 2
select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24
select l_shipmode, count(*) from lineitem where l_commitdate < l_receiptdate and l_shipmode in ('MAIL', 'SHIP') group by 1
