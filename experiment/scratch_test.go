package experiment
import ("testing";"context";"fmt";"github.com/stillpoint-dp/stillpoint/optimize";"time")
func TestScratch(t *testing.T){
 for _, mk := range []func(int,int,uint64)(*Family,error){LogisticNonconvex,Tanh} {
  f,err:=mk(100,2000,1); if err!=nil{t.Fatal(err)}
  for _,N:=range []float64{237,500,659,1000,2044,3000,5000,5783,15000,18197}{
   s,err:=NewSetting(f,N,1); if err!=nil{t.Fatal(err)}
   p,sz:=f.Problem(),s.Size()
   one:=optimize.Last
   half:=optimize.Ball{Fraction:.5}
   plans:=map[string]func()(optimize.Plan,error){
    "gd4":func()(optimize.Plan,error){return optimize.GD{}.Plan(p,sz)},
    "gd1":func()(optimize.Plan,error){return optimize.GD{Multiplier:1}.Plan(p,sz)},
    "storm":func()(optimize.Plan,error){return optimize.STORM{}.Plan(p,sz)},
    "stormA":func()(optimize.Plan,error){a:=optimize.TailAverage; return optimize.STORM{Output:&a}.Plan(p,sz)},
    "stormH":func()(optimize.Plan,error){return optimize.STORM{Ball:half}.Plan(p,sz)},
    "stormP":func()(optimize.Plan,error){return optimize.STORM{Ball:optimize.Ball{Fraction:1}}.Plan(p,sz)},
    "storm2k":func()(optimize.Plan,error){return optimize.STORM{Steps:2000}.Plan(p,sz)},
    "storm4k":func()(optimize.Plan,error){return optimize.STORM{Steps:4000}.Plan(p,sz)},
    "storm2kh2":func()(optimize.Plan,error){return optimize.STORM{Steps:2000,StepScale:2}.Plan(p,sz)},
   }
   names:=[]string{"gd4","storm","auto"}
   if N>5000 {names=append(names,"storm2k")}
   plans["auto"]=func()(optimize.Plan,error){l,err:=optimize.Auto(p,sz); if err!=nil {return nil,err}; fmt.Println(optimize.Why(l)); return l[0].Plan,nil}
   _ = one
   for _,name:=range names{
    pl,err:=plans[name](); if err!=nil{t.Fatal(err)}
    var v []float64; st:=time.Now()
    for seed:=range uint64(10){ o,err:=s.Run(context.Background(),pl,seed); if err!=nil{t.Fatal(err)}; v=append(v,o.Ratio())}
    o:=pl.Outline()
    fmt.Printf("%-20s N=%6.0f %-7s T=%4d ratio %.3f predicted %.3f  pred/meas %.2f  %v\n",f.Name,o.Effective,name,o.Steps,Median(v),o.Predicted/o.Floor,o.Predicted/o.Floor/Median(v),time.Since(st).Round(time.Millisecond))
   }
  }
 }
}
